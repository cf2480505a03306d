import { z } from 'zod'
import { StoredVariables } from '../sessions/session-bytes.ts'
import { SessionSpec } from '../sessions/sessions.ts'

/** Largest number of images for which one user can store defaults. */
export const MOST_IMAGE_DEFAULTS = 100

const { image, resources, gpu, shmem, environ, folders } = SessionSpec.shape

/** Initial settings for new sessions of an image, as stored by a user. */
export const ImageDefaultsSpec = z
  .strictObject({ image, resources, gpu, shmem, environ, folders })
  .meta({ id: 'ImageDefaultsSpec' })
export type ImageDefaultsSpec = z.infer<typeof ImageDefaultsSpec>

/** The stored defaults of a user for one image. Only this user sees them; they are checked when a session is launched. */
export const ImageDefaults = z
  .object({ ...ImageDefaultsSpec.shape, environ: StoredVariables, changedAt: z.iso.datetime() })
  .meta({ id: 'ImageDefaults' })
export type ImageDefaults = z.infer<typeof ImageDefaults>
