"""A kernel's parameters as programs on the host see them."""

import inspect

from .names import DType, constexpr


def is_constexpr(parameter):
    """Returns true if a parameter (`inspect.Parameter`) is annotated as a constant of compile time."""
    annotation = parameter.annotation
    return annotation is constexpr or (isinstance(annotation, str) and annotation.split(".")[-1].strip() == "constexpr")


class KernelParameter:
    """A parameter's place, name, annotation and default."""

    def __init__(self, num, parameter, do_not_specialize, do_not_specialize_on_alignment):
        self.num, self._parameter = num, parameter
        self.do_not_specialize, self.do_not_specialize_on_alignment = do_not_specialize, do_not_specialize_on_alignment

    @property
    def name(self):
        return self._parameter.name

    @property
    def annotation(self):
        """The annotation as a word: "constexpr", "int32", ...; empty without one."""
        given = self._parameter.annotation
        if self.is_constexpr:
            return "constexpr"
        if given is inspect.Parameter.empty:
            return ""
        if isinstance(given, DType):
            return given.name
        return given.split(".")[-1] if isinstance(given, str) else getattr(given, "__name__", "")

    @property
    def is_constexpr(self):
        return is_constexpr(self._parameter)

    @property
    def is_const(self):
        return not self.is_constexpr and ("const" in self.annotation or self.annotation.startswith("*k"))

    @property
    def default(self):
        return self._parameter.default

    @property
    def has_default(self):
        return self._parameter.default is not inspect.Parameter.empty
