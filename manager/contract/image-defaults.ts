import { z } from 'zod'
import { StoredVariables } from './session-bytes.ts'
import { SessionSpec } from './sessions.ts'

/** Most images for which one user has stored defaults. */
export const MOST_IMAGE_DEFAULTS = 100

const { image, resources, shmem, environ, folders } = SessionSpec.shape

/** Settings with which new sessions of an image begin, as their user stores them. */
export const ImageDefaultsSpec = z
  .strictObject({ image, resources, shmem, environ, folders })
  .meta({ id: 'ImageDefaultsSpec' })
export type ImageDefaultsSpec = z.infer<typeof ImageDefaultsSpec>

/** The stored defaults of a user for one image. Only this user sees them; they are checked when a session is launched. */
export const ImageDefaults = z
  .object({ ...ImageDefaultsSpec.shape, environ: StoredVariables, changedAt: z.iso.datetime() })
  .meta({ id: 'ImageDefaults' })
export type ImageDefaults = z.infer<typeof ImageDefaults>
