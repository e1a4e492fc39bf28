"""Questions to the device drivers of this machine. Importing it asks nothing and needs no driver."""

from .ascend_driver import (
    get_ascend_device_properties,
    get_num_cube_cores,
    get_num_vector_cores,
)
from .ascend_driver import get_device_name as get_ascend_device_name
from .ascend_driver import get_l2_cache_size as get_ascend_l2_cache_size
from .ascend_driver import get_total_memory as get_ascend_total_memory
from .cuda_driver import (
    get_cuda_device_properties,
    get_device_attribute,
    get_device_name,
    get_max_dynamic_shared_size_bytes,
    get_num_sms,
    get_persisting_l2_cache_max_size,
    get_registers_per_block,
    get_shared_memory_per_block,
)

__all__ = [
    "get_ascend_device_name",
    "get_ascend_device_properties",
    "get_ascend_l2_cache_size",
    "get_ascend_total_memory",
    "get_cuda_device_properties",
    "get_device_attribute",
    "get_device_name",
    "get_max_dynamic_shared_size_bytes",
    "get_num_cube_cores",
    "get_num_sms",
    "get_num_vector_cores",
    "get_persisting_l2_cache_max_size",
    "get_registers_per_block",
    "get_shared_memory_per_block",
]
