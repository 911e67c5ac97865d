"""The contract is no test module by its name: its assertions too shall say both values."""

import pytest

pytest.register_assert_rewrite("store_contract")
