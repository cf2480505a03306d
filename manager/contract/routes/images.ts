import { z } from 'zod'
import {
  AgentCleanUp,
  CleanUpSpec,
  Image,
  ImageAlias,
  ImageAliasName,
  ImageBuildSpec,
  ImageChange,
  ImageSort,
  PullSpec,
  RemovalSpec,
} from '../images/images.ts'
import { AgentId } from '../ids.ts'
import { CauseFields } from '../causes/fields.ts'
import { Task } from '../operation/tasks.ts'
import { PlainText } from '../plain-text.ts'
import { OptionalPage, pageOf, type RouteSpec } from './route-spec.ts'

const CleanUpReply = z.object({ items: z.array(AgentCleanUp) })

/** Images that can be launched, and admins' actions on images of agents. */
export const IMAGE_ROUTES = {
  listImages: {
    method: 'GET',
    path: '/api/v1/images',
    access: 'user',
    summary: 'List the images that can be launched: those on agents, and those of registries that your domain may use.',
    query: OptionalPage.extend({
      agent: AgentId.optional().describe('For superadmins: the images on this agent only.'),
      sort: ImageSort.optional().describe(
        'Order, falling with a `-`; left out: images on agents before those that only registries have.',
      ),
      search: PlainText(254)
        .optional()
        .describe('Words that occur in the name, aliases, title, registry or apps, in any letter case.'),
    }),
    reply: pageOf(Image).extend({ total: z.int().describe('Number of all matches.') }),
  },
  updateImage: {
    method: 'PATCH',
    path: '/api/v1/images',
    access: 'superadmin',
    summary: 'Change the minimum resources of an image, or the domains that may use it.',
    body: ImageChange,
    reply: z.object({
      image: Image,
      notices: z.array(z.object({ code: z.string(), message: z.string(), ...CauseFields })),
    }),
  },
  listImageAliases: {
    method: 'GET',
    path: '/api/v1/image-aliases',
    access: 'superadmin',
    summary: 'List the aliases of images, also of images that are gone.',
    reply: z.object({ items: z.array(ImageAlias) }),
  },
  putImageAlias: {
    method: 'PUT',
    path: '/api/v1/image-aliases',
    access: 'superadmin',
    summary: 'Give an image an alias: a short name for launches, templates and pulls.',
    body: ImageAlias,
    reply: ImageAlias,
  },
  deleteImageAlias: {
    method: 'DELETE',
    path: '/api/v1/image-aliases/:alias',
    access: 'superadmin',
    summary: 'Remove an alias. Sessions keep the name that it stood for.',
    params: z.object({ alias: ImageAliasName }),
    status: 204,
    reply: z.void(),
  },
  pullImage: {
    method: 'POST',
    path: '/api/v1/images/pull',
    access: 'superadmin',
    idempotencyKey: true,
    summary: 'Pull an image to agents, from its registry or from agents that have it.',
    body: PullSpec,
    status: 202,
    reply: Task,
  },
  buildImage: {
    method: 'POST',
    path: '/api/v1/images/build',
    access: 'superadmin',
    idempotencyKey: true,
    summary: 'Build an image from a recipe on an agent. The recipe runs as root in containers of its engine.',
    body: ImageBuildSpec,
    status: 202,
    reply: Task,
  },
  removeImage: {
    method: 'POST',
    path: '/api/v1/images/remove',
    access: 'superadmin',
    summary: 'Remove an image from agents. An image in use is kept.',
    body: RemovalSpec,
    reply: CleanUpReply,
  },
  cleanUpImages: {
    method: 'POST',
    path: '/api/v1/images/clean-up',
    access: 'superadmin',
    summary: 'Remove images from agents that are not in use and can be pulled again.',
    body: CleanUpSpec,
    // Eight parts for an image, if each is alone on its host.
    jsonParts: 85_000,
    reply: CleanUpReply,
  },
} as const satisfies Record<string, RouteSpec>
