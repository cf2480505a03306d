import {
  formatAmount,
  type GpuLimitUse,
  gpusText,
  type GroupId,
  PARTS_OF_SHARE,
  type ResourceSlots,
  SessionId,
} from '#manager/contract'
import { type GpuExclusion, Limits, type ModelLimit } from '../scheduler/plan/index.ts'
import { newId } from '../store/new-id.ts'
import { type ScopedSession } from '../store/quotas/limits.ts'
import { type Db } from '../store/schema.ts'
import { type Caller } from '../users/authorize.ts'
import { readLimits } from '../scheduler/read-limits.ts'

export interface WhatIsLeft {
  /** Amounts of limited slots that remain for one more session. */
  readonly slots: ResourceSlots
  /** Limits on the GPUs of single models. */
  readonly gpuLimits: readonly GpuLimitUse[]
  /** The GPUs that these limits keep from a request for these amounts. */
  readonly exclusions: (requested: ResourceSlots) => readonly GpuExclusion[]
  /** Number of remaining sessions; null if it is not limited. */
  readonly sessions: number | null
}

/** The scopes that a new session of the caller would count against. */
export function asked(caller: Caller, groupId: GroupId | null): ScopedSession {
  return { id: newId(SessionId), ownerId: caller.userId, keypair: caller.keypair, groupId, domain: caller.domain }
}

/** Amounts that the limits leave for a session, regardless of which resource groups it may use. */
export async function readWhatIsLeft(db: Db, session: ScopedSession): Promise<WhatIsLeft> {
  const { scopes } = await readLimits(db, '', [session])
  const keys = [...scopes.keys()]
  const counted = [...scopes.values()].filter(({ maxSessions }) => maxSessions !== null)
  const sessions = counted.map(scope => Math.max(0, (scope.maxSessions ?? 0) - scope.sessions))
  const unlimited = new Map([...scopes].map(([key, scope]) => [key, { ...scope, maxSessions: null }]))
  const limits = new Limits(unlimited)
  return {
    slots: limits.left({ requested: {}, scopes: keys }) ?? {},
    exclusions: requested => limits.exclusions({ requested, scopes: keys }),
    gpuLimits: [...scopes.values()].flatMap(({ models = [], policy, name }) =>
      models.map(limit => toLimitUse(limit, policy ?? name)),
    ),
    sessions: sessions.length === 0 ? null : Math.min(...sessions),
  }
}

/** A limit on a model as people read it. @param policy name of the resource policy */
export function toLimitUse({ model, limit, held }: ModelLimit, policy: string): GpuLimitUse {
  const left = Math.floor(Math.max(0, limit - held) / PARTS_OF_SHARE)
  return { model, policy, limit: gpusText(limit), held: gpusText(held), left: formatAmount('cuda.shares', left) }
}
