"""Passes that put what an inference export turned off back into training: batch statistics and Dropout."""
