import { z } from 'zod'
import { TextOf, TextUpTo } from '../plain-text.ts'
import { FailureText } from '../causes/fields.ts'
import { DomainName } from '../identity/domains.ts'
import { AgentId } from '../ids.ts'
import { WireSlots } from '../agents/resource-slots.ts'
import { AppProtocol } from '../sessions/sessions.ts'
import { sortBy } from '../sort.ts'

export const ImageReference = TextUpTo(512)
  .min(1)
  .regex(/^[A-Za-z0-9[][\w.:/@[\]-]*$/, 'must be an image reference, such as berth/python:3.13')

/** Short name of an image: lower-case letters, digits, `.`, `_` and `-`, with or without a tag. */
export const ImageAliasName = TextOf(
  127,
  /^[a-z0-9][a-z0-9._-]{0,62}(:[a-z0-9][a-z0-9._-]{0,62})?$/,
  'must be a short name, such as python or torch:2',
)

export const ImageAlias = z
  .strictObject({ alias: ImageAliasName, reference: ImageReference })
  .meta({ id: 'ImageAlias' })
export type ImageAlias = z.infer<typeof ImageAlias>

/** Number of agents that a list names for each image. */
export const FIRST_AGENTS = 3

/** An image that users can choose: an agent holds it, or an active registry offers it. */
export const Image = z
  .object({
    reference: z.string(),
    aliases: z.array(z.string()).describe('Short names, for everything that names an image.'),
    digest: z.string().describe('Image id of the engine, sha256:…'),
    title: z.string(),
    description: z.string(),
    sizeBytes: z.number().describe('Size on the engine; for an image that no agent has, the size of the download.'),
    minimum: WireSlots.describe('Smaller requests are raised to the minimum.'),
    labelMinimum: WireSlots.describe('Minimum according to the labels; an admin may have changed `minimum`.'),
    shmem: z.string(),
    apps: z.array(z.object({ name: z.string(), title: z.string(), protocol: AppProtocol, path: z.string() })),
    holders: z
      .number()
      .int()
      .min(0)
      .describe('Number of agents that have the image, in the resource groups that the caller may use.'),
    domains: z
      .array(z.string())
      .nullable()
      .optional()
      .describe('The domains that may use the image; null = all. Only for superadmins.'),
    agentIds: z.array(AgentId).optional().describe('The agents that have the image; only for superadmins.'),
    firstAgents: z
      .array(z.string())
      .max(FIRST_AGENTS)
      .optional()
      .describe('Names of the first agents that have the image; only for superadmins.'),
    registry: z.string().nullable().describe('Name of its registry; null for an image made on an agent.'),
    pullable: z.boolean().describe('An active registry offers the image: agents without it pull it at launch.'),
    outdated: z.boolean().describe('The registry has a newer image under this name than the agents.'),
    volumes: z
      .array(z.string())
      .optional()
      .describe('Paths outside of the home that the image declares as volumes: what is written there is not kept.'),
    architecture: z
      .string()
      .optional()
      .describe(
        'Processor architecture, such as arm64, where it is not the one of most images; left out where unknown.',
      ),
    madeBy: z
      .string()
      .optional()
      .describe('Name of the user of whose session the image was made; left out for other images.'),
    /** False for images without labels of Berth or Backend.AI: terminal and SFTP only. */
    labelled: z.boolean(),
  })
  .meta({ id: 'Image' })
export type Image = z.infer<typeof Image>

/** Orders of a list of images; with `-`, descending. */
export const IMAGE_ORDERS = ['reference', 'title', 'size', 'agents', 'registry'] as const
export type ImageOrder = (typeof IMAGE_ORDERS)[number]
export const ImageSort = sortBy(IMAGE_ORDERS)
export type ImageSort = z.infer<typeof ImageSort>

/** Change of the settings of an image name. A key that is left out keeps its value. */
export const ImageChange = z.strictObject({
  reference: ImageReference,
  minimum: WireSlots.nullable()
    .optional()
    .describe('Replaces the minimum of the labels, slot by slot; null = use the labels.'),
  domains: z
    .array(DomainName)
    .max(1000)
    .nullable()
    .optional()
    .describe('The domains whose users may see and launch the image; null = all, none = superadmins alone.'),
})
export type ImageChange = z.infer<typeof ImageChange>

/** Agents to act on: name them or a resource group, or neither for all agents. */
const Where = {
  agentIds: z.array(AgentId).max(1000).optional(),
  resourceGroup: TextUpTo(64).optional(),
}
export const PullSpec = z
  .strictObject({
    reference: ImageReference,
    ...Where,
    from: z
      .enum(['registry', 'agents'])
      .default('registry')
      .describe('`agents`: the image comes from agents that have it, one after the other, and no registry is asked.'),
    digest: TextOf(71, /^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hexadecimal digits')
      .optional()
      .describe('Only from agents: which image, if they have several under this name.'),
  })
  .refine(({ from, digest }) => from === 'agents' || digest === undefined, {
    path: ['digest'],
    message: 'chooses among the images that agents have; a registry has one under a name',
  })
export type PullSpec = z.infer<typeof PullSpec>
/** Longest recipe, in characters. */
const LONGEST_RECIPE = 65_536
export const ImageBuildSpec = z
  .strictObject({
    reference: TextUpTo(200).regex(
      /^[a-z0-9]+([._/-]+[a-z0-9]+)*:\w[\w.-]{0,127}$/,
      'must be a name in lower case with a tag, such as lab/torch:2',
    ),
    recipe: TextUpTo(LONGEST_RECIPE)
      .min(1)
      .describe(
        'Text of a Dockerfile. It runs as root in containers of the builder, and no files can be copied from the host.',
      ),
    agentId: AgentId,
  })
  .meta({ id: 'ImageBuildSpec' })
export type ImageBuildSpec = z.infer<typeof ImageBuildSpec>
export const RemovalSpec = z.strictObject({ reference: ImageReference, ...Where })
export type RemovalSpec = z.infer<typeof RemovalSpec>
/** Images of one agent, as a dry run listed them. */
const ListedImages = z.strictObject({
  agentId: AgentId,
  images: z.array(z.strictObject({ digest: TextUpTo(200), references: z.array(TextUpTo(1_000)) })).max(10_000),
})
export const CleanUpSpec = z
  .strictObject({
    ...Where,
    dryRun: z.boolean().default(false).describe('Only list the images that would be removed.'),
    includeLocal: z
      .boolean()
      .default(false)
      .describe('Also remove session images that no registry is known to have; they cannot be pulled again.'),
    listed: z
      .array(ListedImages)
      .max(10_000)
      .optional()
      .describe(
        'Images to remove, as a dry run listed them; required without `dryRun`. Other images stay, also one that has got another name since.',
      ),
  })
  .refine(({ dryRun, listed }) => dryRun || listed !== undefined, {
    path: ['listed'],
    error: 'Ask with dryRun first, and send the images that it lists.',
  })
export type CleanUpSpec = z.infer<typeof CleanUpSpec>

/** The request that removes exactly the images listed by a dry run. */
export const listedIn = (items: readonly AgentCleanUp[]): NonNullable<CleanUpSpec['listed']> =>
  items
    .filter(({ images }) => images.length > 0)
    .map(({ agentId, images }) => ({
      agentId,
      images: images.map(({ digest, references }) => ({ digest, references })),
    }))

/** Result of a clean-up of images on one agent; with `dryRun`, the result that it would have. */
export const AgentCleanUp = z
  .object({
    agentId: AgentId,
    agentName: z.string(),
    images: z.array(
      z.object({
        digest: z.string(),
        references: z.array(z.string()),
        sizeBytes: z.number(),
        /** Bytes that no remaining image shares. */
        uniqueBytes: z.number(),
      }),
    ),
    kept: z.array(z.object({ digest: z.string(), references: z.array(z.string()), why: z.string() })),
    freedBytes: z.number().describe('With dryRun: the space that would be freed at least.'),
    error: FailureText.nullable(),
  })
  .meta({ id: 'AgentCleanUp' })
export type AgentCleanUp = z.infer<typeof AgentCleanUp>
