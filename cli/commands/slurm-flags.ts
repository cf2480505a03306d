import { type Command, InvalidArgumentError } from 'commander'
import { defined } from '#base/defined'
import {
  type ApiClient,
  AppError,
  SLURM_OFFERED,
  SlurmChoice,
  type SlurmOffered,
  SlurmSettings,
} from '#manager/contract'
import { durationOption } from './duration.ts'
import { findGroup } from './find-user.ts'

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
  projectAccount?: readonly Named[]
  projectQos?: readonly Named[]
  mailDomain?: string
  person?: readonly Named[]
  /** False with --no-people. */
  people?: boolean
}

/** A project or person, and the value for it; an empty value removes the entry. */
interface Named {
  readonly of: string
  readonly value: string
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
    .option(
      '--project-account <project=account>',
      'Slurm: account of the sessions of a project; repeatable, speech= removes it',
      collectNamed,
    )
    .option('--project-qos <project=qos>', 'Slurm: the same for the QOS', collectNamed)
    .option(
      '--person <email=user>',
      'Slurm: whose jobs the sessions of a person are; people without a user are then refused; repeatable, ada@example.org= removes it',
      collectNamed,
    )
    .option('--mail-domain <domain>', 'Slurm: at this mail domain, the part before the @ is the user of Slurm')
    .option('--no-people', 'Slurm: all jobs are of the user who runs the manager')

function collectNamed(text: string, before: readonly Named[] = []): readonly Named[] {
  const [, of, value] = /^([^=]+)=(.*)$/.exec(text) ?? []
  if (of === undefined || value === undefined) throw new InvalidArgumentError('Write a name, = and a value.')
  return [...before, { of, value }]
}

function collectOffer(text: string, before: readonly Offer[] = []): readonly Offer[] {
  const [name = '', ...rest] = text.split('=')
  const setting = SLURM_OFFERED.find(one => one === name)
  if (!setting || rest.length === 0)
    throw new InvalidArgumentError(`Give ${SLURM_OFFERED.map(one => `${one}=VALUE`).join(', ')}.`)
  return [...before, { setting, value: rest.join('=') || undefined }]
}

/** The settings with what was typed; undefined if nothing was. @throws AppError `bad_request`, `group_not_found` */
export async function slurmSettingsOf(
  api: ApiClient,
  flags: SlurmFlags,
  present: () => Promise<SlurmSettings | undefined>,
): Promise<SlurmSettings | undefined> {
  const { partition, account, qos, constraint, reservation } = flags
  const { timeLimit: timeLimitMinutes, maxTimeLimit: maxTimeLimitMinutes } = flags
  const typed = defined({ partition, account, qos, constraint, reservation, timeLimitMinutes, maxTimeLimitMinutes })
  const { offer, projectAccount, projectQos, mailDomain, person, people } = flags
  const others = Object.keys(defined({ offer, projectAccount, projectQos, mailDomain, person }))
  if (Object.keys(typed).length + others.length === 0 && people !== false) return undefined
  const before = (await present()) ?? {}
  const all = {
    ...before,
    ...typed,
    offers: withOffers(before, offer),
    projects: await withProjects(api, before, { account: projectAccount, qos: projectQos }),
    people: withPeople(before, flags),
  }
  const settings = Object.fromEntries(
    Object.entries(all)
      .filter(([, value]) => value !== undefined && value !== '')
      .map(([name, value]) => [name, name.endsWith('Minutes') ? Number(value) : value]),
  )
  const { data, error } = SlurmSettings.safeParse(settings)
  if (error) throw refused(error.issues)
  return data
}

const orNone = <Value extends object>(value: Value) => (Object.keys(value).length === 0 ? undefined : value)

function withOffers({ offers: before }: SlurmSettings, offer: readonly Offer[] = []) {
  const offers: Record<string, readonly string[] | undefined> = { ...before }
  for (const { setting } of offer) offers[setting] = offer.flatMap(one => (one.setting === setting && one.value) || [])
  return orNone(Object.fromEntries(Object.entries(offers).filter(([, values]) => values?.length)))
}

async function withProjects(
  api: ApiClient,
  { projects: before }: SlurmSettings,
  typed: Readonly<Record<'account' | 'qos', readonly Named[] | undefined>>,
) {
  const projects: Record<string, Readonly<Record<string, string | undefined>>> = { ...before }
  for (const setting of ['account', 'qos'] as const)
    for (const { of, value } of typed[setting] ?? []) {
      const { id } = await findGroup(api, of)
      const { [setting]: _, ...rest } = projects[id] ?? {}
      projects[id] = value === '' ? rest : { ...rest, [setting]: value }
    }
  return orNone(Object.fromEntries(Object.entries(projects).filter(([, one]) => Object.keys(one).length > 0)))
}

/** Without the last person, the map stays: it refuses everybody, and does not give their jobs to the user of the manager. */
function withPeople({ people: before }: SlurmSettings, { mailDomain, person = [], people }: SlurmFlags) {
  if (people === false) return undefined
  if (mailDomain === undefined && person.length === 0) return before
  const users = new Map(Object.entries(before?.users ?? {}).map(([address, user]) => [address.toLowerCase(), user]))
  for (const { of, value } of person) {
    const address = of.toLowerCase()
    if (value === '') users.delete(address)
    else users.set(address, value)
  }
  const domain = mailDomain === undefined ? before?.mailDomain : mailDomain || undefined
  return defined({ mailDomain: domain, users: users.size === 0 ? undefined : Object.fromEntries(users) })
}

function refused([issue]: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]): AppError {
  return new AppError('bad_request', { why: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}.` })
}
