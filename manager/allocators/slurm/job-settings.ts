import { type SlurmChoice, type SlurmJob, type SlurmSettings } from '#manager/contract'

/** Settings of a session's job: its own choices, else those of its project, else those of its group. Pure. */
export function jobSettings(
  { maxTimeLimitMinutes, offers: _, projects = {}, people: _people, ...group }: SlurmSettings,
  { slurm, projectId }: { readonly slurm?: SlurmChoice | undefined; readonly projectId?: string | null },
): SlurmJob {
  const project = projects[projectId ?? ''] ?? {}
  // Without a time limit of its own, a partition's could be longer than what sessions may choose.
  return { timeLimitMinutes: maxTimeLimitMinutes, ...group, ...project, ...slurm }
}
