import { z } from 'zod'
import { TextOf } from './plain-text.ts'

const SLURM_NAME = /^[A-Za-z0-9][A-Za-z0-9_.+-]*$/
const SLURM_FEATURES = /^[A-Za-z0-9[(][A-Za-z0-9_.+*&|,()[\]-]*$/
const MOST_SLURM_NAME = 128
const MOST_SLURM_FEATURES = 256
const MOST_SLURM_MINUTES = 366 * 1440
const MOST_OFFERED = 20

const slurmName = TextOf(MOST_SLURM_NAME, SLURM_NAME, 'must be a name as Slurm knows it')
const slurmFeatures = TextOf(MOST_SLURM_FEATURES, SLURM_FEATURES, 'must be features as Slurm takes them')
const minutes = z.int().min(1).max(MOST_SLURM_MINUTES)

/** Settings of jobs for which a session may choose a value that its resource group offers. */
export const SLURM_OFFERED = ['qos', 'constraint', 'reservation'] as const
export type SlurmOffered = (typeof SLURM_OFFERED)[number]

/** What a session chooses in Slurm, within the bounds of its resource group. Left out: the setting of the group. */
export const SlurmChoice = z
  .strictObject({
    timeLimitMinutes: minutes.optional().describe('Slurm ends the session after this time.'),
    qos: slurmName.optional(),
    constraint: slurmFeatures.optional().describe('Features of nodes, such as `a100&nvlink`.'),
    reservation: slurmName.optional(),
  })
  .meta({ id: 'SlurmChoice' })
export type SlurmChoice = z.infer<typeof SlurmChoice>

/** Limits and place of a group's jobs in Slurm. Left out: as Slurm's administrators have set it for the user who runs the manager. */
export const SlurmSettings = z
  .strictObject({
    partition: slurmName.optional(),
    account: slurmName.optional(),
    qos: slurmName.optional(),
    constraint: slurmFeatures.optional().describe('Features of nodes, such as `a100&nvlink`.'),
    reservation: slurmName.optional(),
    timeLimitMinutes: minutes
      .optional()
      .describe(
        'Slurm ends a session that chooses no time limit after this time. Left out: the time limit of the partition.',
      ),
    maxTimeLimitMinutes: minutes
      .optional()
      .describe('Longest time limit that a session may choose. Left out: `timeLimitMinutes`; without that, any.'),
    offers: z
      .strictObject({
        qos: z.array(slurmName).max(MOST_OFFERED).optional(),
        constraint: z.array(slurmFeatures).max(MOST_OFFERED).optional(),
        reservation: z.array(slurmName).max(MOST_OFFERED).optional(),
      })
      .optional()
      .describe("Values that sessions may choose instead of the group's own. Left out: none."),
  })
  .meta({ id: 'SlurmSettings' })
export type SlurmSettings = z.infer<typeof SlurmSettings>

/** Settings of one job. */
export type SlurmJob = Pick<SlurmSettings, 'partition' | 'account' | SlurmOffered | 'timeLimitMinutes'>

/** Longest time limit in minutes that a session of the group may choose; undefined: Slurm decides. */
export const mostMinutes = ({ maxTimeLimitMinutes, timeLimitMinutes }: SlurmSettings): number | undefined =>
  maxTimeLimitMinutes ?? timeLimitMinutes

/** Settings that the schema refuses. For the page, which carries no schemas. */
export function wrongSlurmSettings(settings: SlurmSettings): (keyof SlurmSettings)[] {
  const { timeLimitMinutes, maxTimeLimitMinutes, offers, ...names } = settings
  const wrong: (keyof SlurmSettings)[] = (Object.keys(names) as (keyof typeof names)[]).filter(
    name => !isValue(name, names[name]),
  )
  if (!isMinutes(timeLimitMinutes)) wrong.push('timeLimitMinutes')
  if (!isMinutes(maxTimeLimitMinutes)) wrong.push('maxTimeLimitMinutes')
  const isOffered = SLURM_OFFERED.every(
    name =>
      (offers?.[name] ?? []).length <= MOST_OFFERED && (offers?.[name] ?? []).every(value => isValue(name, value)),
  )
  return isOffered ? wrong : [...wrong, 'offers']
}

/** Whether Slurm may get the time limit; undefined is no limit. */
export const isMinutes = (value: number | undefined) =>
  value === undefined || (Number.isInteger(value) && value >= 1 && value <= MOST_SLURM_MINUTES)

function isValue(name: string, text: string | undefined): boolean {
  const [most, form] = name === 'constraint' ? [MOST_SLURM_FEATURES, SLURM_FEATURES] : [MOST_SLURM_NAME, SLURM_NAME]
  return text === undefined || (text.length <= most && form.test(text))
}
