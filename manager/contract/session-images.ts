import { z } from 'zod'
import { SessionId } from './ids.ts'
import { TextUpTo, TrimmedLines, TrimmedText } from './plain-text.ts'
import { RegistryName, RegistryProject } from './registries.ts'
import { Task } from './tasks.ts'

/** Person whose images are named. */
interface ImageOwner {
  readonly id: string
  readonly email: string
}

/** Digits of the id that tell people with the same name apart. They are random, so nobody makes an account with somebody else's. */
const DIGITS = 8

/** First part of an address, in letters that a name of an image may have, and digits of the person's own. */
export function sessionImageOwner({ id, email }: ImageOwner): string {
  const name = (email.split('@', 1)[0] ?? '').toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  return `${name.replaceAll(/^-|-$/g, '') || 'user'}-${id.slice(-DIGITS)}`
}

/**
 * Beginning of the names of all images of a user's sessions. No image of Berth, of a recipe or of Docker Hub (whose names have two
 * parts) is below `users/NAME/`, so an image of a session is never taken for one of these; nor for one of another user, because the
 * names of two people differ.
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

/** Where an image is pushed when it is made. */
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

/** State of the image of a session: its request that waits, and the task of the image that is being made or was made last. */
export const SessionImage = z
  .object({ request: ImageRequest.nullable(), task: Task.nullable() })
  .meta({ id: 'SessionImage' })
export type SessionImage = z.infer<typeof SessionImage>
