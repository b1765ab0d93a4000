// Textures and surfaces do not exist on gfx942 and gfx950: their units have no image instructions.
// A kernel that calls one is refused with its name.
#pragma once

namespace mla_hip {
template <class... T>
constexpr bool never = false;
}

#define MLA_NO_IMAGES(name)                                                                   \
  template <class T = float, class... Arguments>                                              \
  __device__ inline T name(Arguments...) {                                                    \
    static_assert(mla_hip::never<Arguments...>,                                               \
                  #name "() is not supported: gfx942 and gfx950 have no image instructions"); \
    return {};                                                                                \
  }
MLA_NO_IMAGES(tex1Dfetch)
MLA_NO_IMAGES(tex1D)
MLA_NO_IMAGES(tex2D)
MLA_NO_IMAGES(tex3D)
MLA_NO_IMAGES(tex2DLod)
MLA_NO_IMAGES(tex3DLod)
MLA_NO_IMAGES(tex1DLayered)
MLA_NO_IMAGES(tex2DLayered)
MLA_NO_IMAGES(tex2Dgather)
MLA_NO_IMAGES(texCubemap)
MLA_NO_IMAGES(surf1Dread)
MLA_NO_IMAGES(surf1Dwrite)
MLA_NO_IMAGES(surf2Dread)
MLA_NO_IMAGES(surf2Dwrite)
MLA_NO_IMAGES(surf3Dread)
MLA_NO_IMAGES(surf3Dwrite)
#undef MLA_NO_IMAGES
