import { type Migration } from 'kysely/migration'
import { tables } from './0001-tables/index.ts'
import { endsOfLinks } from './0002-ends-of-links.ts'
import { gpuChoice } from './0003-gpu-choice.ts'
import { allocations } from './0004-allocations.ts'
import { slurmChoice } from './0005-slurm-choice.ts'
import { slurmUsers } from './0006-slurm-users.ts'
import { gpuLimits } from './0007-gpu-limits.ts'
import { gpuLimitsOfProjects } from './0008-gpu-limits-of-projects.ts'
import { agentPrograms } from './0009-agent-programs.ts'
import { hostsThatLeave } from './0010-hosts-that-leave.ts'
import { accessTokens } from './0011-access-tokens.ts'
import { engineUsers } from './0012-engine-users.ts'
import { sessionsOverHosts } from './0013-sessions-over-hosts.ts'
import { auditedTokens } from './0014-audited-tokens.ts'

/** All migrations, in order of their names. Never edit a released migration; add one with the next number. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-tables': tables,
  '0002-ends-of-links': endsOfLinks,
  '0003-gpu-choice': gpuChoice,
  '0004-allocations': allocations,
  '0005-slurm-choice': slurmChoice,
  '0006-slurm-users': slurmUsers,
  '0007-gpu-limits': gpuLimits,
  '0008-gpu-limits-of-projects': gpuLimitsOfProjects,
  '0009-agent-programs': agentPrograms,
  '0010-hosts-that-leave': hostsThatLeave,
  '0011-access-tokens': accessTokens,
  '0012-engine-users': engineUsers,
  '0013-sessions-over-hosts': sessionsOverHosts,
  '0014-audited-tokens': auditedTokens,
}
