"""Devices: those that kry opens, and those of PyOpenCL."""
import contextlib
import os
from typing import Any, Dict, List, Optional, Union

import numpy as np

from ._library import TYPES, check, ffi, lib, own, text


def _info(profile):
    return {name: text(value) if isinstance(value := getattr(profile, name), ffi.CData) else value
            for name, _ in ffi.typeof('kry_device_info').fields}


def devices() -> List[Dict[str, Any]]:
    """List the OpenCL devices there are.

    Returns
    -------
    list of dict
        What each says of itself: ``name``, ``platform``, ``kind`` ("gpu", "cpu", ...), ``fp64``, ... in the order
        "gpu:0", "gpu:1", ..., then the others.

    Examples
    --------
    >>> import pykry
    >>> all('name' in d for d in pykry.devices())
    True
    """
    found, count = ffi.new('kry_device_info **'), ffi.new('int *')
    check(lib.kry_device_list_sized(found, count, ffi.sizeof('kry_device_info')))
    profiles = [_info(found[0][i]) for i in range(count[0])]
    _libc.free(found[0])
    return profiles


class Device:
    """A device to solve on.

    Parameters
    ----------
    spec : str, optional
        "gpu", "cpu", "gpu:1", a part of a device's name, "host" (no OpenCL), "gpu:all" (several as one), ... Without
        it the environment variable ``KRY_DEVICE``, else the first GPU, else the host.
    queue : pyopencl.CommandQueue, optional
        Work on this in-order queue, with its context and device, instead.
    times : bool, optional
        Keep the times of kernels, for `report`; costs some microseconds for each launch. A queue of one's own keeps
        them if it was made with PROFILING_ENABLE.

    Examples
    --------
    >>> import pykry
    >>> pykry.Device('host').kind
    'host'
    """

    def __init__(self, spec: Optional[str] = None, *, queue: Any = None, times: bool = False):
        box = ffi.new('kry_device **')
        if queue is None:
            open_device = lib.kry_device_open_timed if times else lib.kry_device_open
            check(open_device(ffi.NULL if spec is None else spec.encode(), box))
        else:
            context, device = queue.context, queue.device
            check(lib.kry_device_wrap(ffi.cast('cl_context', context.int_ptr), ffi.cast('cl_device_id', device.int_ptr),
                                      ffi.cast('cl_command_queue', queue.int_ptr), box))
        self.handle = own(box, lib.kry_device_release)
        self.queue = queue
        self._profile = lib.kry_device_get_info(self.handle)

    @property
    def info(self) -> Dict[str, Any]:
        """What the device said of itself, a dict."""
        return _info(self._profile[0])

    @property
    def name(self) -> str:
        """The device's name."""
        return text(self._profile.name)

    @property
    def kind(self) -> str:
        """"gpu", "cpu", "accelerator" or "host"."""
        return text(self._profile.kind)

    @property
    def fp64(self) -> bool:
        """Whether it computes in double."""
        return bool(self._profile.fp64)

    def __repr__(self):
        return f'<pykry.Device {self.name!r}, {self.kind}>'

    ranks = False  # whether it is made of those of several processes

    def together(self, call):
        """Of a team of ranks: what is raised in here by one is raised by all."""
        return contextlib.nullcontext()

    def undisturbed(self):
        """Of a team of ranks: Ctrl-C waits in here until a solve sees it, or the end."""
        return contextlib.nullcontext()

    def raised(self, error):
        """After a solve: raise what a callback raised; returns whether it was Ctrl-C."""
        try:
            if error is not None and not isinstance(error, KeyboardInterrupt):
                raise error
            return error is not None
        finally:
            del error  # whose traceback refers to this frame

    def vector(self, dtype, rows, cols=1):
        """A new kry_vec of zeros."""
        box = ffi.new('kry_vec **')
        check(lib.kry_vec_create(self.handle, TYPES[dtype], rows, cols, box))
        return own(box, lib.kry_vec_release)

    def view(self, a):
        """A kry_vec on the numbers of a pyopencl.array.Array, without a copy."""
        dtype = np.dtype(a.dtype)
        if dtype not in TYPES:
            raise TypeError(f'an array of PyOpenCL has the type {dtype}; kry takes float32 and float64')
        if not a.flags.f_contiguous:
            raise ValueError('an array of PyOpenCL has to lie column after column without gaps (order="F")')
        rows, cols = (a.shape + (1,))[:2]
        box = ffi.new('kry_vec **')
        check(lib.kry_vec_wrap(self.handle, TYPES[dtype], rows, cols, ffi.cast('cl_mem', a.base_data.int_ptr),
                               a.offset // dtype.itemsize, box))
        return own(box, lib.kry_vec_release)

# None: the default; a queue of PyOpenCL's has an int_ptr.
DeviceLike = Union[None, str, Device, Any]


def is_on_device(a):
    """Whether it is an array of PyOpenCL's."""
    return hasattr(a, 'base_data') and hasattr(a, 'queue')


_libc = ffi.dlopen(None)
_default = {}  # by what was asked for; of this process


def device_of(wanted, b=None, times=False):
    """The device that an argument `device=` means; None: that of b's queue, or the default one, opened once."""
    if isinstance(wanted, Device):
        return wanted
    if wanted is None and is_on_device(b):
        return _kept(b.queue.int_ptr, queue=b.queue)
    if wanted is not None and hasattr(wanted, 'int_ptr'):
        return _kept(wanted.int_ptr, queue=wanted)
    if not isinstance(wanted, (str, type(None))):
        raise TypeError(f'device={wanted!r} is no Device, word or queue')
    return _kept((wanted or '', times), spec=wanted, times=times)


def _kept(key, **how):
    if key not in _default:
        _default[key] = Device(**how)
    return _default[key]


_lost = []  # not released: PyOpenCL would ask a driver that does not work in the child


def _forget():
    """A child of fork() cannot use the devices of its parent: kry says so where one is used. "host" it may open."""
    _lost.append(dict(_default))
    _default.clear()


os.register_at_fork(after_in_child=_forget)
