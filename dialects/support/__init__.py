"""What every dialect needs: dtypes, shapes, dense constants, diagnostics, op interfaces."""
