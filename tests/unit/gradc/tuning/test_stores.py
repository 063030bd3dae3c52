"""The cache of measurements and the tuning file: what is read back, and what is not believed."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.examples import examples

from dialects.support.diagnostics import GradcError
from gradc.files import writing
from gradc.tuning import records, stores
from gradc.tuning.records import Setting, Tuning, strategies_version
from gradc.tuning.stores import Cache, TuningFile, load_file
from gradc.util.machine import Machine
from passes.targets.target import Target

SETTING = Setting("cpu", 18, 2, Machine("A CPU", 4, ("avx2",)), "1.31.0", "0123456789ab")
TUNING = Tuning("fast", {"fast": 0.5, "slow": 1.25}, "somewhere")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
any_folder = examples(80, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(SETTING, tmp_path / "cache")


def only_file(cache: Cache) -> Path:
    (path,) = cache.folder.iterdir()
    return path


class TestRecords:
    def test_round_trip(self):
        assert Tuning.of_json(json.loads(json.dumps(TUNING.json()))) == TUNING

    @pytest.mark.parametrize(
        "change",
        [
            {"choice": "other"},
            {"choice": 1},
            {"choice": ["fast"]},
            {"seconds": {"fast": 0}},
            {"seconds": {"fast": -1.0}},
            {"seconds": {"fast": True}},
            {"seconds": {"fast": "1"}},
            {"seconds": {"fast": float("nan")}},
            {"seconds": {"fast": float("inf")}},
            {"seconds": {"fast": 10**400}},
            {"seconds": [0.5]},
            {"seconds": {}},
            {"measured_on": None},
            {"more": 1},
        ],
        ids=str,
    )
    def test_what_is_no_record(self, change: dict[str, Any]):
        with pytest.raises(ValueError, match=r"expected|not the record"):
            Tuning.of_json(TUNING.json() | change)

    @any_folder
    @given(json_values)
    def test_anything_else_is_a_value_error(self, value: Any):
        with pytest.raises(ValueError, match=r"expected|not the record"):
            Tuning.of_json(value)

    def test_every_field_of_the_setting_is_in_the_key(self):
        others = [
            replace(SETTING, target="cuda"),
            replace(SETTING, opset=19),
            replace(SETTING, threads=1),
            replace(SETTING, machine=Machine("B CPU", 4, ("avx2",))),
            replace(SETTING, machine=Machine("A CPU", 8, ("avx2",))),
            replace(SETTING, machine=Machine("A CPU", 4, None)),
            replace(SETTING, runtime="1.32.0"),
            replace(SETTING, strategies="0"),
        ]
        keys = [json.dumps(setting.key("p")) for setting in (SETTING, *others)]
        assert len(set(keys)) == len(keys)

    def test_the_version_of_the_strategies(self, monkeypatch):
        before = strategies_version()
        assert strategies_version() == before
        monkeypatch.setattr(records, "by_name", lambda: {"only-one": None})
        assert strategies_version() != before
        monkeypatch.undo()
        monkeypatch.setattr(records, "__version__", "99")
        assert strategies_version() != before

    def test_this_setting(self):
        setting = Setting.of(Target("cpu", 19, 3))
        assert (setting.target, setting.opset, setting.threads) == ("cpu", 19, 3)
        assert setting.machine.cores >= 1
        assert setting.runtime in str(setting)


class TestCache:
    def test_round_trip(self, cache):
        assert cache.read("p") is None
        cache.write("p", TUNING)
        assert cache.read("p") == TUNING
        assert Cache(SETTING, cache.folder).read("p") == TUNING
        assert cache.read("q") is None
        assert Cache(replace(SETTING, threads=1), cache.folder).read("p") is None
        assert list(cache.remarks()) == []

    def test_the_later_one_stays(self, cache):
        cache.write("p", TUNING)
        cache.write("p", replace(TUNING, choice="slow"))
        read = cache.read("p")
        assert read is not None
        assert read.choice == "slow"

    def test_where_it_is(self, monkeypatch, tmp_path):
        monkeypatch.setenv(stores.FOLDER_VARIABLE, str(tmp_path))
        assert Cache(SETTING).folder == tmp_path
        monkeypatch.delenv(stores.FOLDER_VARIABLE)
        assert "gradc" in str(Cache(SETTING).folder)

    @any_folder
    @given(data=st.binary(max_size=200))
    def test_random_bytes_are_no_measurement(self, cache, data):
        cache.write("p", TUNING)
        only_file(cache).write_bytes(data)
        assert cache.read("p") is None
        (remark,) = cache.remarks()
        assert remark.severity == "remark"
        assert str(cache.folder) in str(remark)

    @any_folder
    @given(at=st.integers(0, 10_000))
    def test_a_file_that_ends_early(self, cache, at):
        cache.write("p", TUNING)
        whole = only_file(cache).read_bytes()
        only_file(cache).write_bytes(whole[: at % len(whole)])
        assert cache.read("p") is None

    @any_folder
    @given(value=json_values)
    def test_json_that_is_something_else(self, cache, value):
        cache.write("p", TUNING)
        content = json.loads(only_file(cache).read_bytes())
        for wrong in (
            value,
            content | {"value": value},
            content | {"key": value},
            content | {"format": value},
        ):
            if wrong == content:
                continue
            only_file(cache).write_text(json.dumps(wrong))
            assert cache.read("p") is None

    def test_deep_nesting(self, cache):
        cache.write("p", TUNING)
        only_file(cache).write_text("[" * 100_000)
        assert cache.read("p") is None

    def test_another_problem_under_this_name(self, cache):
        """As after a collision, or by a hand that renames files."""
        cache.write("p", TUNING)
        first = only_file(cache)
        cache.write("q", replace(TUNING, choice="slow"))
        (second,) = set(cache.folder.iterdir()) - {first}
        first.write_bytes(second.read_bytes())
        assert cache.read("p") is None
        assert "not a measurement of this problem" in str(*cache.remarks())

    def test_a_folder_that_cannot_be(self, tmp_path):
        (tmp_path / "file").write_text("")
        cache = Cache(SETTING, tmp_path / "file" / "cache")
        cache.write("p", TUNING)
        assert cache.read("p") is None
        (remark,) = cache.remarks()
        assert "\n" not in str(remark)

    def test_read_only(self, cache, monkeypatch):
        def refuses(path: Any, data: bytes) -> None:
            with writing.atomic_file(path):
                raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(stores, "write_atomically", refuses)
        cache.write("p", TUNING)
        cache.write("q", TUNING)
        assert list(cache.folder.iterdir()) == []
        (remark,) = cache.remarks()
        assert "Permission denied" in str(remark)

    @pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
    def test_a_file_system_that_takes_nothing(self, cache, monkeypatch, code):
        def refuses(*_, **__):
            raise OSError(code, os.strerror(code))

        for module, name in ((Path, "mkdir"), (os, "fsync")):
            with monkeypatch.context() as patch:
                patch.setattr(module, name, refuses)
                cache.write("p", TUNING)
        assert list(cache.folder.glob("*")) == []
        (remark,) = cache.remarks()
        assert str(remark).endswith(f"are ignored: {cache.folder}: {os.strerror(code)}")

    @pytest.mark.parametrize("answer", [RuntimeError("no home"), "~/.cache/gradc"])
    def test_a_user_without_a_home(self, answer, monkeypatch, tmp_path):
        def user_cache_dir(*_, **__):
            if isinstance(answer, str):
                return answer
            raise answer

        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv(stores.FOLDER_VARIABLE, raising=False)
        monkeypatch.setattr(stores, "user_cache_dir", user_cache_dir)
        cache = Cache(SETTING)
        cache.write("p", TUNING)
        assert cache.read("p") is None
        (remark,) = cache.remarks()
        assert "this user has no home folder; GRADC_CACHE_DIR names another place" in str(remark)
        assert list(tmp_path.iterdir()) == []

    def test_something_else_in_its_place(self, cache):
        cache.write("p", TUNING)
        path = only_file(cache)
        path.unlink()
        path.mkdir()
        assert cache.read("p") is None
        cache.write("p", TUNING)
        assert len(list(cache.remarks())) == 1

    def test_processes_that_write_at_the_same_time(self, cache):
        script = (
            "import sys\n"
            "from pathlib import Path\n"
            "from gradc.util.machine import Machine\n"
            "from gradc.tuning.records import Setting, Tuning\n"
            "from gradc.tuning.stores import Cache\n"
            f"cache = Cache({SETTING!r}, Path(sys.argv[1]))\n"
            "for count in range(60):\n"
            "    name = f'w{sys.argv[2]}'\n"
            "    cache.write('shared', Tuning(name, {name: 1 + count, 'x' * 5000: 1.0}, ''))\n"
            "    cache.write(name, Tuning(name, {name: 1 + count}, ''))\n"
            "assert not cache.fault, cache.fault\n"
        )
        writers = [
            subprocess.Popen([sys.executable, "-c", script, str(cache.folder), str(index)])
            for index in range(3)
        ]
        seen = set()
        while any(writer.poll() is None for writer in writers):
            found = cache.read("shared")
            assert not cache.fault, cache.fault
            seen.add(found.choice if found else None)
        assert [writer.wait() for writer in writers] == [0, 0, 0]
        assert seen & {"w0", "w1", "w2"}
        for index in range(3):
            assert cache.read(f"w{index}") == Tuning(f"w{index}", {f"w{index}": 60.0}, "")
        assert len(list(cache.folder.iterdir())) == 4


class TestFile:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "tunings.json"

    def test_round_trip(self, path):
        file = TuningFile(path, "cpu", 2, {})
        assert file.read("p") is None
        file.write("p", TUNING)
        again = load_file(path)
        assert again == TuningFile(path, "cpu", 2, {"p": TUNING})
        before = path.read_bytes()
        again.write("p", TUNING)
        assert path.read_bytes() == before

    def test_the_order_of_writing_does_not_show(self, path):
        for name in "abc":
            TuningFile(path, "cpu", 2, {}).write(name, TUNING)
        first = path.read_bytes()
        path.unlink()
        for name in "cab":
            TuningFile(path, "cpu", 2, {}).write(name, TUNING)
        assert path.read_bytes() == first

    def test_sizes_of_another_measurement(self, path):
        other = replace(TUNING, choice="slow")
        file = TuningFile(path, "cpu", 2, {"p,x=? at p,x=3": other, "p,x=? at p,x=2": TUNING})
        assert file.read("p,x=? at p,x=3") == other
        assert file.read("p,x=?") == TUNING
        assert file.read("p") is None

    def test_what_it_is_for(self, path):
        file = TuningFile(path, "cpu", 2, {})
        file.check(Target("cpu", 21, 2))
        with pytest.raises(GradcError, match=r"threads of .*: given 2, expected 1; name another"):
            file.check(Target("cpu", 18, 1))
        with pytest.raises(GradcError, match=r"target of .*: given cpu, expected cuda; name another"):
            file.check(Target("cuda", 18, 2))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "is not a tuning file: Expecting value"),
            ("[]", "is not a tuning file: expected an object with format, target, threads and tunings"),
            ('{"format": 1}', "is not a tuning file"),
            (
                '{"format": 7, "target": "cpu", "threads": 1, "tunings": {}}',
                "format of .*: given 7, expected 1",
            ),
            ('{"format": 1, "target": "cpu", "threads": 0, "tunings": {}}', "expected a target, a number of"),
            (
                '{"format": 1, "target": "cpu", "threads": 18446744073709551616, "tunings": {}}',
                "expected a target, a number of",
            ),
            (
                '{"format": 1, "target": "cpu", "threads": true, "tunings": {}}',
                "expected a target, a number of",
            ),
            (
                '{"format": 1, "target": "cpu", "threads": 1, "tunings": {"p": {}}}',
                "tuning of p: not the record of a tuning",
            ),
            (
                f'{{"format": 1, "target": "cpu", "threads": 1, "tunings": {{"{"p" * 9000}": {{}}}}}}',
                r"tuning of p{300}\.\.: not the record of a tuning",
            ),
            ("[" * 100_000, "is not a tuning file"),
        ],
        ids=lambda text: text[:40],
    )
    def test_a_file_that_is_wrong_is_an_error(self, path, text, message):
        """It was asked for by name: ignoring it would be worse than saying so."""
        path.write_text(text)
        with pytest.raises(GradcError, match=message) as caught:
            load_file(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_no_file(self, path):
        with pytest.raises(GradcError, match="No such file or directory; tune=True makes it"):
            load_file(path)

    @any_folder
    @given(data=st.binary(max_size=100) | json_values.map(lambda value: json.dumps(value).encode()))
    def test_random_bytes(self, tmp_path, data):
        path = tmp_path / "random.json"
        path.write_bytes(data)
        with pytest.raises(GradcError, match=r"random\.json"):
            load_file(path)
