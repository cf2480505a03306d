import { type Command, InvalidArgumentError } from 'commander'
import { defined } from '#base/defined'
import { AppError, SLURM_OFFERED, SlurmChoice, type SlurmOffered, SlurmSettings } from '#manager/contract'
import { durationOption } from './duration.ts'

/** Options of a launch for resource groups that Slurm runs. */
export interface SlurmChoiceFlags {
  /** Seconds. */
  slurmTime?: number
  slurmQos?: string
  slurmConstraint?: string
  slurmReservation?: string
}

export const withSlurmChoice = (command: Command) =>
  command
    .option(
      '--slurm-time <time>',
      'Slurm: time limit of the job, e.g. 8h, if the resource group allows it',
      durationOption,
    )
    .option('--slurm-qos <name>', 'Slurm: QOS, one that the resource group offers')
    .option('--slurm-constraint <features>', 'Slurm: features of the node, as the resource group offers them')
    .option('--slurm-reservation <name>', 'Slurm: reservation, one that the resource group offers')

/**
 * @param before choices of a template, which the options change
 * @throws AppError `bad_request`
 */
export function slurmChoiceOf(flags: SlurmChoiceFlags, before: SlurmChoice | undefined): SlurmChoice | undefined {
  const { slurmTime, slurmQos: qos, slurmConstraint: constraint, slurmReservation: reservation } = flags
  const timeLimitMinutes = slurmTime === undefined ? undefined : Math.ceil(slurmTime / 60)
  const typed = defined({ timeLimitMinutes, qos, constraint, reservation })
  if (Object.keys(typed).length === 0) return before
  const { data, error } = SlurmChoice.safeParse({ ...before, ...typed })
  if (error) throw refused(error.issues)
  return data
}

/** Options of a resource group that Slurm runs; an empty text removes a setting. */
export interface SlurmFlags {
  partition?: string
  account?: string
  qos?: string
  constraint?: string
  reservation?: string
  timeLimit?: string
  maxTimeLimit?: string
  offer?: readonly Offer[]
}

interface Offer {
  readonly setting: SlurmOffered
  /** Undefined: none. */
  readonly value: string | undefined
}

export const withSlurmSettings = (command: Command) =>
  command
    .option('--partition <name>', 'Slurm: partition of the jobs; like the next ones, "" removes it')
    .option('--account <name>', 'Slurm: account of the jobs')
    .option('--qos <name>', 'Slurm: QOS of the jobs')
    .option('--constraint <features>', 'Slurm: features that nodes must have')
    .option('--reservation <name>', 'Slurm: reservation to use')
    .option('--time-limit <minutes>', 'Slurm: time after which it ends a session that chooses no time limit')
    .option('--max-time-limit <minutes>', 'Slurm: longest time limit that a session may choose')
    .option(
      '--offer <setting=value>',
      'Slurm: a qos, constraint or reservation that sessions may choose, e.g. qos=urgent; repeatable, replaces what was offered; qos= offers none',
      collectOffer,
    )

function collectOffer(text: string, before: readonly Offer[] = []): readonly Offer[] {
  const [name = '', ...rest] = text.split('=')
  const setting = SLURM_OFFERED.find(one => one === name)
  if (!setting || rest.length === 0)
    throw new InvalidArgumentError(`Give ${SLURM_OFFERED.map(one => `${one}=VALUE`).join(', ')}.`)
  return [...before, { setting, value: rest.join('=') || undefined }]
}

/** The settings with what was typed; undefined if nothing was. @throws AppError `bad_request` */
export async function slurmSettingsOf(
  { timeLimit: timeLimitMinutes, maxTimeLimit: maxTimeLimitMinutes, offer = [], ...names }: SlurmFlags,
  present: () => Promise<SlurmSettings | undefined>,
): Promise<SlurmSettings | undefined> {
  const { partition, account, qos, constraint, reservation } = names
  const typed = defined({ partition, account, qos, constraint, reservation, timeLimitMinutes, maxTimeLimitMinutes })
  if (Object.keys(typed).length === 0 && offer.length === 0) return undefined
  const before = await present()
  const offers: Record<string, readonly string[] | undefined> = { ...before?.offers }
  for (const { setting } of offer) offers[setting] = offer.flatMap(one => (one.setting === setting && one.value) || [])
  const kept = Object.fromEntries(Object.entries(offers).filter(([, values]) => values && values.length > 0))
  const all = { ...before, ...typed, offers: Object.keys(kept).length > 0 ? kept : '' }
  const settings = Object.fromEntries(
    Object.entries(all)
      .filter(([, value]) => value !== '')
      .map(([name, value]) => [name, name.endsWith('Minutes') ? Number(value) : value]),
  )
  const { data, error } = SlurmSettings.safeParse(settings)
  if (error) throw refused(error.issues)
  return data
}

function refused([issue]: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]): AppError {
  return new AppError('bad_request', { why: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}.` })
}
