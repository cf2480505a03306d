import { z } from 'zod'
import { ImageDefaults, ImageDefaultsSpec } from '../images/image-defaults.ts'
import { type RouteSpec } from './route-spec.ts'

const path = '/api/v1/me/image-defaults'

/** The caller's own defaults for images: the launch dialog begins with them when the image is chosen. */
export const IMAGE_DEFAULTS_ROUTES = {
  listImageDefaults: {
    method: 'GET',
    path,
    access: 'user',
    summary: 'Your own defaults for images, by image.',
    reply: z.object({ items: z.array(ImageDefaults) }),
  },
  putImageDefaults: {
    method: 'PUT',
    path,
    access: 'user',
    summary: 'Store your defaults for an image, in place of those that it has.',
    body: ImageDefaultsSpec,
    reply: ImageDefaults,
  },
  deleteImageDefaults: {
    method: 'DELETE',
    path,
    access: 'user',
    summary: 'Remove your defaults for an image.',
    query: ImageDefaultsSpec.pick({ image: true }),
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
