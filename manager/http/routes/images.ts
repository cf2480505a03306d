import { type ImageAliases } from '../../images/aliases.ts'
import { type Builds } from '../../images/builds.ts'
import { type ImageCleanUp } from '../../images/clean-up.ts'
import { type Images } from '../../images/images.ts'
import { type Pulls } from '../../images/pulls.ts'
import { type Handlers } from '../handlers.ts'

type ImageRoutes =
  | 'listImageAliases'
  | 'putImageAlias'
  | 'deleteImageAlias'
  | 'listImages'
  | 'updateImage'
  | 'pullImage'
  | 'buildImage'
  | 'removeImage'
  | 'cleanUpImages'

export function createImageRoutes(deps: {
  images: Images
  aliases: ImageAliases
  pulls: Pulls
  builds: Builds
  cleanUp: ImageCleanUp
}): Pick<Handlers, ImageRoutes> {
  const { images, aliases, pulls, builds, cleanUp } = deps
  return {
    listImages: ({ caller }, { query }) => images.list(caller, query),
    updateImage: ({ caller }, { body }) => images.change(caller, body),
    listImageAliases: async () => ({ items: await aliases.list() }),
    putImageAlias: (_context, { body }) => aliases.put(body),
    deleteImageAlias: (_context, { params }) => aliases.remove(params.alias),
    pullImage: ({ caller }, { body }) => pulls.start(caller, body),
    buildImage: ({ caller }, { body }) => builds.start(caller, body),
    removeImage: async (_context, { body }) => ({ items: await cleanUp.remove(body) }),
    cleanUpImages: async (_context, { body }) => ({ items: await cleanUp.cleanUp(body) }),
  }
}
