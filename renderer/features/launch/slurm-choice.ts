import { durationText, parseDuration } from '#base/duration'
import { mostMinutes, SLURM_OFFERED, type SlurmChoice, type SlurmOffered, type SlurmSettings } from '#manager/contract'
import { formatSeconds } from '../../ui/format.ts'
import { t } from '../../words/en/launch.ts'

/** Values chosen among those that a resource group offers; left out: the setting of the group. */
export type SlurmValues = Readonly<Partial<Record<SlurmOffered, string | undefined>>>

interface SlurmFields {
  readonly slurmTime: string
  readonly slurmValues: SlurmValues
}

const minutesOf = (typed: string) => {
  const seconds = parseDuration(typed)
  return seconds === undefined ? undefined : Math.ceil(seconds / 60)
}

/** The values that the resource group offers for a setting, without its own. */
export const offeredBy = (settings: SlurmSettings, name: SlurmOffered): readonly string[] =>
  (settings.offers?.[name] ?? []).filter(value => value !== settings[name])

/** The choice in the form, without values that this group does not offer; undefined for none. */
export function slurmChoiceOf(
  { slurmTime, slurmValues }: SlurmFields,
  settings: SlurmSettings,
): SlurmChoice | undefined {
  const timeLimitMinutes = minutesOf(slurmTime)
  const chosen = SLURM_OFFERED.flatMap(name => {
    const value = slurmValues[name]
    return value !== undefined && offeredBy(settings, name).includes(value) ? [[name, value] as const] : []
  })
  const choice: SlurmChoice = {
    ...(timeLimitMinutes === undefined ? {} : { timeLimitMinutes }),
    ...Object.fromEntries(chosen),
  }
  return Object.keys(choice).length === 0 ? undefined : choice
}

/** Fills the fields with the choice of an earlier request. */
export function slurmLike(choice: SlurmChoice | null | undefined): SlurmFields {
  const { timeLimitMinutes, ...slurmValues } = choice ?? {}
  return { slurmTime: timeLimitMinutes === undefined ? '' : durationText(timeLimitMinutes * 60), slurmValues }
}

/** @returns empty for a time limit that the group allows */
export function slurmTimeFault(typed: string, settings: SlurmSettings): string {
  const most = mostMinutes(settings)
  if (most === undefined || (minutesOf(typed) ?? 0) <= most) return ''
  return t('slurmTimeMost', { time: formatSeconds(most * 60) })
}

/** The fields without choices in Slurm that this resource group does not offer. */
export const fitSlurm = <Form extends SlurmFields>(form: Form, settings: SlurmSettings | undefined): Form => ({
  ...form,
  ...slurmLike(settings && slurmChoiceOf(form, settings)),
})

/** Settings that offer just what these fields choose. */
export function offering({ slurmTime = '', slurmValues = {} }: Partial<SlurmFields>): SlurmSettings | undefined {
  if (slurmTime === '' && Object.keys(slurmValues).length === 0) return undefined
  return {
    offers: Object.fromEntries(
      Object.entries(slurmValues).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value]]])),
    ),
  }
}
