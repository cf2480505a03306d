import { z } from 'zod'
import { TextOf, TextUpTo } from '../plain-text.ts'

const SLURM_NAME = /^[A-Za-z0-9][A-Za-z0-9_.+-]*$/
const SLURM_FEATURES = /^[A-Za-z0-9[(][A-Za-z0-9_.+*&|,()[\]-]*$/
const MOST_SLURM_NAME = 128
const MOST_SLURM_FEATURES = 256
const MOST_SLURM_MINUTES = 366 * 1440
const MOST_OFFERED = 20
const MOST_PROJECTS = 1_000
const MOST_PEOPLE = 10_000
/** Name of a user of the operating system. */
const USER_NAME = /^(?!(?:root|slurm)$)[a-z_][a-z0-9_.-]{0,31}$/
const MAIL_DOMAIN = /^[a-z0-9.-]{1,253}$/
const MOST_ADDRESS = 254

const slurmName = TextOf(MOST_SLURM_NAME, SLURM_NAME, 'must be a name as Slurm knows it')
const slurmFeatures = TextOf(MOST_SLURM_FEATURES, SLURM_FEATURES, 'must be features as Slurm takes them')
const minutes = z.int().min(1).max(MOST_SLURM_MINUTES)

/** Settings of jobs for which a session may choose a value that its resource group offers. */
export const SLURM_OFFERED = ['qos', 'constraint', 'reservation'] as const
export type SlurmOffered = (typeof SLURM_OFFERED)[number]

/** Choices of a session in Slurm, within the bounds of its resource group. Left out: the setting of the group. */
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
    projects: z
      .record(z.uuid(), z.strictObject({ account: slurmName.optional(), qos: slurmName.optional() }))
      .refine(projects => Object.keys(projects).length <= MOST_PROJECTS, `at most ${MOST_PROJECTS} projects`)
      .optional()
      .describe("Account and QOS of the sessions of a project instead of the group's, by project id."),
    people: z
      .strictObject({
        mailDomain: TextOf(253, MAIL_DOMAIN, 'must be the part of addresses behind the @, in small letters')
          .optional()
          .describe('At this domain, the part of an address before the @ is the user of Slurm.'),
        users: z
          .record(
            // People are found whatever the size of letters, so an address may be here only once.
            TextUpTo(MOST_ADDRESS).toLowerCase(),
            TextOf(32, USER_NAME, 'must be the name of a user of Slurm other than root and slurm'),
          )
          .refine(users => Object.keys(users).length <= MOST_PEOPLE, `at most ${MOST_PEOPLE} people`)
          .optional()
          .describe('Users of Slurm by e-mail address, before the rule.'),
      })
      .optional()
      .describe(
        'Whose jobs the sessions of a person are; a person without a user of Slurm is refused. Left out: all jobs are of the user who runs the manager.',
      ),
  })
  .meta({ id: 'SlurmSettings' })
export type SlurmSettings = z.infer<typeof SlurmSettings>

/** Settings of one job. */
export type SlurmJob = Pick<SlurmSettings, 'partition' | 'account' | SlurmOffered | 'timeLimitMinutes'>

/** Longest time limit in minutes that a session of the group may choose; undefined: Slurm decides. */
export const mostMinutes = ({ maxTimeLimitMinutes, timeLimitMinutes }: SlurmSettings): number | undefined =>
  maxTimeLimitMinutes ?? timeLimitMinutes

/** The user of Slurm of a person; undefined: there is none. Pure. */
export function slurmUserOf({ mailDomain, users = {} }: SlurmPeople, email: string): string | undefined {
  const address = email.toLowerCase()
  const listed = Object.entries(users).find(([one]) => one.toLowerCase() === address)
  if (listed) return listed[1]
  const at = address.lastIndexOf('@')
  const name = address.slice(0, at)
  return mailDomain !== undefined && address.slice(at + 1) === mailDomain && USER_NAME.test(name) ? name : undefined
}
export type SlurmPeople = NonNullable<SlurmSettings['people']>

/** Settings that the schema refuses. For the page, which carries no schemas. */
export function wrongSlurmSettings(settings: SlurmSettings): (keyof SlurmSettings)[] {
  const { timeLimitMinutes, maxTimeLimitMinutes, offers, projects = {}, people = {}, ...names } = settings
  const wrong: (keyof SlurmSettings)[] = (Object.keys(names) as (keyof typeof names)[]).filter(
    name => !isValue(name, names[name]),
  )
  if (!isMinutes(timeLimitMinutes)) wrong.push('timeLimitMinutes')
  if (!isMinutes(maxTimeLimitMinutes)) wrong.push('maxTimeLimitMinutes')
  const isOffered = SLURM_OFFERED.every(
    name =>
      (offers?.[name] ?? []).length <= MOST_OFFERED && (offers?.[name] ?? []).every(value => isValue(name, value)),
  )
  if (!isOffered) wrong.push('offers')
  if (!Object.values(projects).every(one => isValue('account', one.account) && isValue('qos', one.qos)))
    wrong.push('projects')
  const { mailDomain, users = {} } = people
  const areUsers = Object.entries(users).every(
    ([address, user]) => address.length <= MOST_ADDRESS && USER_NAME.test(user),
  )
  if ((mailDomain !== undefined && !MAIL_DOMAIN.test(mailDomain)) || !areUsers) wrong.push('people')
  return wrong
}

/** Whether Slurm may get the time limit; undefined is no limit. */
export const isMinutes = (value: number | undefined) =>
  value === undefined || (Number.isInteger(value) && value >= 1 && value <= MOST_SLURM_MINUTES)

function isValue(name: string, text: string | undefined): boolean {
  const [most, form] = name === 'constraint' ? [MOST_SLURM_FEATURES, SLURM_FEATURES] : [MOST_SLURM_NAME, SLURM_NAME]
  return text === undefined || (text.length <= most && form.test(text))
}
