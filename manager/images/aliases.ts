import { AppError, because, type ImageAlias, meaningsOf } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { deleteImageAlias, listImageAliases, putImageAlias } from '../store/images/image-aliases.ts'
import { type Store } from '../store/open-store.ts'
import { readKnownImages, toImages } from './known-images.ts'

/**
 * Short names of images, usable wherever an image is named: launches, templates, pulls. A session stores the name for which the alias
 * stood. An alias whose image is gone is kept, and works again when the image is back.
 */
export interface ImageAliases {
  list(): Promise<ImageAlias[]>
  /** @throws AppError `image_not_found`, `image_alias_exists` (also if the alias is the name of an image) */
  put(spec: ImageAlias): Promise<ImageAlias>
  /** @throws AppError `image_alias_not_found` */
  remove(alias: string): Promise<void>
}

export function createImageAliases({ store, events }: { store: Store; events: EventPublisher }): ImageAliases {
  const { db } = store
  const announce = () => events.publish({ topic: 'image', id: 'all', version: store.now() }, 'everyone')

  /** The name of the image that this name or alias means; undefined if there is no such image. */
  async function nameOf(wanted: string): Promise<string | undefined> {
    const meanings = meaningsOf(wanted)
    const known = new Set(toImages(await readKnownImages(db, null, meanings)).map(({ reference }) => reference))
    return meanings.find(meaning => known.has(meaning))
  }

  return {
    list: () => listImageAliases(db),

    async put({ alias, reference: wanted }) {
      const reference = await nameOf(wanted)
      if (reference === undefined) {
        throw new AppError('image_not_found', { image: wanted, ...because('image_unknown_here', { image: wanted }) })
      }
      const same = await nameOf(alias)
      if (same !== undefined) {
        throw new AppError('image_alias_exists', { alias, ...because('alias_is_image', { image: same }) })
      }
      const named = await putImageAlias(db, { alias, reference })
      if (named !== reference) {
        throw new AppError('image_alias_exists', { alias, ...because('alias_taken', { alias, image: named }) })
      }
      announce()
      return { alias, reference }
    },

    async remove(alias) {
      if (!(await deleteImageAlias(db, alias))) throw new AppError('image_alias_not_found', { alias })
      announce()
    },
  }
}
