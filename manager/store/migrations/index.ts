import { type Migration } from 'kysely/migration'
import { initial } from './0001-initial/index.ts'
import { logAccess } from './0002-log-access.ts'
import { reservationsOverHosts } from './0003-reservations-over-hosts.ts'
import { webhooks } from './0004-webhooks.ts'
import { networkAccess } from './0005-network-access.ts'
import { gpuLimitsOfDomains } from './0006-gpu-limits-of-domains.ts'
import { peopleOfDirectories } from './0007-people-of-directories.ts'
import { scim } from './0008-scim.ts'
import { indexOfContinuedKernels } from './0009-index-of-continued-kernels.ts'
import { tokenBounds } from './0010-token-bounds.ts'
import { namesOfScimGroups } from './0011-names-of-scim-groups.ts'
import { defaultNetwork } from './0012-default-network.ts'

/** All migrations, in order of their names. Never edit a released migration; add one with the next number. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-initial': initial,
  '0002-log-access': logAccess,
  '0003-reservations-over-hosts': reservationsOverHosts,
  '0004-webhooks': webhooks,
  '0005-network-access': networkAccess,
  '0006-gpu-limits-of-domains': gpuLimitsOfDomains,
  '0007-people-of-directories': peopleOfDirectories,
  '0008-scim': scim,
  '0009-index-of-continued-kernels': indexOfContinuedKernels,
  '0010-token-bounds': tokenBounds,
  '0011-names-of-scim-groups': namesOfScimGroups,
  '0012-default-network': defaultNetwork,
}
