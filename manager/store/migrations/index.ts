import { type Migration } from 'kysely/migration'
import { schema } from './0001-schema/index.ts'
import { portsOfOthers } from './0002-ports-of-others.ts'
import { linksInHandOf } from './0003-links-in-hand-of.ts'
import { seenByOthers } from './0004-seen-by-others.ts'
import { attemptsByNetwork } from './0005-attempts-by-network.ts'
import { tracesOfOthers } from './0006-traces-of-others.ts'
import { bounds } from './0007-bounds.ts'
import { ownerOnly } from './0008-owner-only.ts'
import { linksAsTraces } from './0009-links-as-traces.ts'
import { givenVersions } from './0010-given-versions.ts'
import { namesOfKeypairs } from './0011-names-of-keypairs.ts'
import { boundedLogins } from './0012-bounded-logins.ts'
import { portsOthersReach } from './0013-ports-others-reach.ts'

/** All migrations, in order of their names. Never edit a released migration; add one with the next number. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-schema': schema,
  '0002-ports-of-others': portsOfOthers,
  '0003-links-in-hand-of': linksInHandOf,
  '0004-seen-by-others': seenByOthers,
  '0005-attempts-by-network': attemptsByNetwork,
  '0006-traces-of-others': tracesOfOthers,
  '0007-bounds': bounds,
  '0008-owner-only': ownerOnly,
  '0009-links-as-traces': linksAsTraces,
  '0010-given-versions': givenVersions,
  '0011-names-of-keypairs': namesOfKeypairs,
  '0012-bounded-logins': boundedLogins,
  '0013-ports-others-reach': portsOthersReach,
}
