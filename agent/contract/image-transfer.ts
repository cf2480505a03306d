import { z } from 'zod'
import { TextUpTo } from '#manager/contract'

/**
 * Messages between two agents when one gives an image to the other (ADR 93). The manager joins two data sockets, and reads none of it.
 *
 *     giver     hello {store, layers, bytes}
 *     receiver  {digests, names}          what it need not be sent
 *     giver     {name, bytes} and that many bytes, for each file; {wait} while its engine prepares; {end} or {failed} last
 *
 * Each is one line of JSON, ended by LF. Files are layers and the configuration of the image, not unpacked; `name` is a label of the giver
 * that the receiver only repeats after a broken transfer. What a file is, its digest says.
 */
export const ImageDigest = TextUpTo(71).regex(/^sha256:[0-9a-f]{64}$/)
export const MOST_LAYERS = 1_000
/** Longest line, in bytes: a list of all digests and names that there may be. */
export const LONGEST_LINE = 512 * 1024

export const TransferHello = z.object({
  /** How the engine keeps images: what an image's id is the digest of. `layers`: its configuration; `blobs`: its manifest. */
  store: z.enum(['layers', 'blobs']),
  /** Digests of the unpacked layers, the lowest first. */
  layers: z.array(ImageDigest).max(MOST_LAYERS),
  /** Size of the image on the giver's engine. */
  bytes: z.number().min(0),
})
export type TransferHello = z.infer<typeof TransferHello>

export const TransferHave = z.object({
  digests: z.array(ImageDigest).max(3 * MOST_LAYERS),
  names: z.array(TextUpTo(200)).max(3 * MOST_LAYERS),
})
export type TransferHave = z.infer<typeof TransferHave>

export const TransferPart = z.union([
  z.object({ name: TextUpTo(200), bytes: z.int().min(0) }),
  z.object({ wait: z.literal(true) }),
  z.object({ end: z.literal(true) }),
  /** Words of the giver's engine. */
  z.object({ failed: TextUpTo(1_000) }),
])
export type TransferPart = z.infer<typeof TransferPart>

/** An image that an agent takes from another one. */
export const ImageOffer = z.object({
  /** Says which data socket belongs to the request. */
  transferId: z.uuid(),
  /** sha256:… on the giver's engine, and the same on the receiver's afterwards. */
  id: ImageDigest,
  /** Names that the image gets. */
  references: z.array(TextUpTo(1_000)).max(100),
  /** Size that the manager knows; the receiver takes no more than a multiple of it. */
  sizeBytes: z.number().min(0),
})
export type ImageOffer = z.infer<typeof ImageOffer>
