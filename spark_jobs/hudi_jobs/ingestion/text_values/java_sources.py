"""The classes of Java that convert texts, each as its package and its name, for `compiled_class`."""

NUMBERS_AND_TIMES = ((__package__, "TextNumbers"), (__package__, "TextTimes"))
TEXT_VALUES = (*NUMBERS_AND_TIMES, (__package__, "TextValues"))
