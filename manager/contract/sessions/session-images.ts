import { z } from 'zod'
import { SessionId } from '../ids.ts'
import { TextUpTo, TrimmedLines, TrimmedText } from '../plain-text.ts'
import { RegistryName, RegistryProject } from '../images/registries.ts'
import { Task } from '../operation/tasks.ts'

/** The user whose images get this name. */
interface ImageOwner {
  readonly id: string
  readonly email: string
}

/** Number of digits of the id that distinguish people with the same name. They are random, so nobody can choose somebody else's. */
const DIGITS = 8

/** First part of the user's address, reduced to characters that image names allow, and digits of the user's id. */
export function sessionImageOwner({ id, email }: ImageOwner): string {
  const name = (email.split('@', 1)[0] ?? '').toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  return `${name.replaceAll(/^-|-$/g, '') || 'user'}-${id.slice(-DIGITS)}`
}

/**
 * Prefix of the names of all images of a user's sessions. No image of Berth, of a recipe or of Docker Hub (whose names have two parts) is
 * below `users/NAME/`, so an image of a session is never mistaken for one of these, nor for one of another user, because user names differ.
 */
export const sessionImagePrefix = (owner: ImageOwner) => `users/${sessionImageOwner(owner)}/`

/** Whether a name begins with the host of a registry, as Docker tells it from a part of the name. */
function hasHost(name: string): boolean {
  const [first = '', ...others] = name.split('/', 2)
  return others.length > 0 && (first.includes('.') || first === 'localhost')
}

/** Name for an image that is made here: lower case, with a tag, without the host of a registry. */
export const MadeImageName = TextUpTo(200)
  .regex(
    /^[a-z0-9]+([._-][a-z0-9]+)*(\/[a-z0-9]+([._-][a-z0-9]+)*)*:[\w][\w.-]{0,127}$/,
    'must be a name with a tag in lower case, such as users/ada-1f0c22d4/torch:2',
  )
  .refine(text => !hasHost(text), 'must not begin with the host of a registry')

/** Request to make an image of a session. */
export const SessionImageSpec = z
  .strictObject({
    reference: MadeImageName,
    title: TrimmedText(64).min(1).optional().describe('Default: the title of the image of the session.'),
    note: TrimmedLines(1000).default('').describe('What the image is for; superadmins read it.'),
  })
  .meta({ id: 'SessionImageSpec' })
export type SessionImageSpec = z.infer<typeof SessionImageSpec>

/** Destination to which an image is pushed when it has been made. */
export const ImagePush = z
  .strictObject({
    registry: RegistryName.describe('An active registry of Berth; its stored user pushes.'),
    project: RegistryProject.optional().describe('Stands before the name of the image.'),
  })
  .meta({ id: 'ImagePush' })
export type ImagePush = z.infer<typeof ImagePush>

/** A request that waits for a superadmin. */
export const ImageRequest = z
  .object({
    id: z.uuid(),
    session: z.object({ id: SessionId, name: z.string(), image: z.string() }),
    email: z.string().describe('The owner of the session.'),
    reference: z.string(),
    title: z.string().nullable(),
    note: z.string(),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
  })
  .meta({ id: 'ImageRequest' })
export type ImageRequest = z.infer<typeof ImageRequest>

/** State of the image of a session: its waiting request, and the task of the image that is being made or was made last. */
export const SessionImage = z
  .object({ request: ImageRequest.nullable(), task: Task.nullable() })
  .meta({ id: 'SessionImage' })
export type SessionImage = z.infer<typeof SessionImage>
