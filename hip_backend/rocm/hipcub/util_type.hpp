// What AITER includes beside hipcub.hpp; it uses nothing of it.
#pragma once
