import { z } from 'zod'
import { Image } from '../agents.ts'
import { type RouteSpec } from './route-spec.ts'

/** Images that can be launched. */
export const IMAGE_ROUTES = {
  listImages: {
    method: 'GET',
    path: '/api/v1/images',
    access: 'user',
    summary: 'Images that can be launched.',
    reply: z.object({ items: z.array(Image) }),
  },
} as const satisfies Record<string, RouteSpec>
