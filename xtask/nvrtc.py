"""Compiles a CUDA source to PTX by NVRTC: nvrtc.py FOLDER_OF_LIBRARIES SOURCE OUTPUT OPTION…

Files beside the source are what it can include. Nothing but the three decides the output.
"""

import ctypes
import pathlib
import sys


def main(libraries, source, output, *options):
    libraries, source = pathlib.Path(libraries), pathlib.Path(source)
    ctypes.CDLL(libraries / "libnvrtc-builtins.so.12.2", mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(libraries / "libnvrtc.so.12")

    def text(kind, program):
        size = ctypes.c_size_t()
        getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{kind}")(program, buffer)
        return buffer.value.decode()

    headers = sorted(path for path in source.parent.iterdir() if path.suffix in (".h", ".cuh"))
    strings = lambda values: (ctypes.c_char_p * len(values))(*[v.encode() for v in values])
    program = ctypes.c_void_p()
    code = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), source.read_bytes(), source.name.encode(), len(headers),
        strings([path.read_text() for path in headers]), strings([path.name for path in headers]))
    if code == 0:
        code = nvrtc.nvrtcCompileProgram(program, len(options), strings(options))
        log = text("ProgramLog", program).strip()
        if log:
            sys.exit(log)
    if code != 0:
        sys.exit(f"NVRTC: error {code}")
    pathlib.Path(output).write_text(text("PTX", program))


main(*sys.argv[1:])
