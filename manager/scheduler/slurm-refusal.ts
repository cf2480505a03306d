import {
  because,
  type Because,
  choiceText,
  type GpuChoice,
  mostMinutes,
  SLURM_OFFERED,
  type SlurmChoice,
  type SlurmSettings,
  slurmUserOf,
} from '#manager/contract'

/** The parts of a request that concern Slurm. */
interface SlurmRequest {
  readonly resources?: { readonly 'cuda.shares'?: unknown } | undefined
  readonly gpu?: GpuChoice | null | undefined
  readonly slurm?: SlurmChoice | null | undefined
  readonly owner: SlurmOwner
}

/** The owner of a session, whose job it is in Slurm. */
export interface SlurmOwner {
  readonly email: string
  /** See `isOfDoubtfulPerson`. */
  readonly isDoubtful: boolean
}

/**
 * Why a group of Slurm refuses a request: a job gets whole GPUs, its owner needs a user of Slurm if the group has a map of
 * users, and only what the group offers can be chosen. Pure.
 *
 * Threat model: the map leads from an address of mail to a user of Slurm, on whose account the jobs count. A domain administrator can create
 * an account with any address, and can get into accounts of the domain. So an account that may be in other hands is refused.
 */
export function slurmRefusal(
  { resources, gpu, slurm, owner }: SlurmRequest,
  group: string,
  settings: SlurmSettings = {},
): Because | undefined {
  if (resources?.['cuda.shares'] !== undefined) return because('slurm_without_shares', { group })
  if (gpu?.migProfile !== undefined) return because('slurm_without_mig', { group, gpu: choiceText(gpu) })
  const { people } = settings
  const { email, isDoubtful } = owner
  if (people && slurmUserOf(people, email) === undefined) return because('slurm_person_unknown', { group, email })
  if (people && isDoubtful) return because('slurm_person_doubtful', { group, email })
  const most = mostMinutes(settings)
  if (most !== undefined && (slurm?.timeLimitMinutes ?? 0) > most)
    return because('slurm_time_over', { group, minutes: most })
  for (const setting of SLURM_OFFERED) {
    const value = slurm?.[setting]
    const offered = settings.offers?.[setting] ?? []
    if (value === undefined || value === settings[setting] || offered.includes(value)) continue
    if (offered.length === 0) return because('slurm_offers_none', { group, setting })
    return because('slurm_not_offered', { group, setting, value, offered: offered.join(', ') })
  }
  return undefined
}

/** Why a request to a group that Berth runs itself is refused: it chooses something in Slurm. Pure. */
export const slurmElsewhere = ({ slurm }: Pick<SlurmRequest, 'slurm'>, group: string): Because | undefined =>
  slurm && Object.keys(slurm).length > 0 ? because('slurm_elsewhere', { group }) : undefined
