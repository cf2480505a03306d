import { type ImageCleanUp } from '../../images/clean-up.ts'
import { type Images } from '../../images/images.ts'
import { type Pulls } from '../../images/pulls.ts'
import { type Handlers } from '../handlers.ts'

type ImageRoutes = 'listImages' | 'updateImage' | 'pullImage' | 'removeImage' | 'cleanUpImages'

export function createImageRoutes(deps: {
  images: Images
  pulls: Pulls
  cleanUp: ImageCleanUp
}): Pick<Handlers, ImageRoutes> {
  const { images, pulls, cleanUp } = deps
  return {
    listImages: async ({ caller }) => ({ items: await images.list(caller) }),
    updateImage: ({ caller }, { body }) => images.change(caller, body),
    pullImage: ({ caller }, { body }) => pulls.start(caller, body),
    removeImage: async (_context, { body }) => ({ items: await cleanUp.remove(body) }),
    cleanUpImages: async (_context, { body }) => ({ items: await cleanUp.cleanUp(body) }),
  }
}
