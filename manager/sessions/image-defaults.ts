import {
  AppError,
  because,
  formatSlots,
  type ImageDefaults,
  type ImageDefaultsSpec,
  MOST_IMAGE_DEFAULTS,
  parseAmount,
  parseSlots,
} from '#manager/contract'
import { lockUser } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import {
  deleteImageDefaults,
  type ImageDefaultsRow,
  listImageDefaults,
  upsertImageDefaults,
} from '../store/sessions/image-defaults.ts'
import { type Caller } from '../users/authorize.ts'
import { requireStillSignedIn } from '../users/still-authorized.ts'

/** Users' default settings for images. Each user has access only to their own; they are checked at the launch, not when they are stored. */
export interface ImageDefaultsService {
  list(caller: Caller): Promise<ImageDefaults[]>
  /** @throws AppError `too_many_image_defaults`, `not_signed_in` (ended meanwhile) */
  put(caller: Caller, defaults: ImageDefaultsSpec): Promise<ImageDefaults>
  /** @throws AppError `image_defaults_not_found` */
  remove(caller: Caller, image: string): Promise<void>
}

export function createImageDefaults({ store }: { store: Pick<Store, 'db' | 'transaction'> }): ImageDefaultsService {
  const { db } = store
  return {
    async list({ userId }) {
      return (await listImageDefaults(db, userId)).map(toDefaults)
    },
    async put(caller, { image, resources, shmem, ...others }) {
      const { userId } = caller
      const settings = {
        ...others,
        resources: formatSlots(parseSlots(resources)),
        ...(shmem === undefined ? {} : { shmem: String(parseAmount('mem', shmem)) }),
      }
      const row = await store.transaction(async trx => {
        // Locked, so that simultaneous requests cannot exceed the limit together.
        await lockUser(trx, userId)
        await requireStillSignedIn(trx, caller)
        const known = await listImageDefaults(trx, userId)
        if (known.length >= MOST_IMAGE_DEFAULTS && !known.some(each => each.image === image)) {
          throw new AppError('too_many_image_defaults', {
            limit: MOST_IMAGE_DEFAULTS,
            ...because('image_defaults_at_most', { limit: MOST_IMAGE_DEFAULTS }),
          })
        }
        return upsertImageDefaults(trx, { userId, image, settings })
      })
      return toDefaults(row)
    },
    async remove({ userId }, image) {
      if (await deleteImageDefaults(db, userId, image)) return
      throw new AppError('image_defaults_not_found', { image, ...because('image_defaults_unknown', { image }) })
    },
  }
}

const toDefaults = ({ image, settings, changed_at }: ImageDefaultsRow): ImageDefaults => ({
  image,
  ...settings,
  changedAt: changed_at.toISOString(),
})
