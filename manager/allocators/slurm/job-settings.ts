import { type SlurmChoice, type SlurmJob, type SlurmSettings } from '#manager/contract'

/** Settings of a session's job: its own choices, else those of its group. Pure. */
export function jobSettings(
  { maxTimeLimitMinutes, offers: _, ...group }: SlurmSettings,
  choice: SlurmChoice = {},
): SlurmJob {
  // Without a time limit of its own, a partition's could be longer than what sessions may choose.
  return { timeLimitMinutes: maxTimeLimitMinutes, ...group, ...choice }
}
