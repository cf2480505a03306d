import { type ResourcePolicies } from '../../quotas/policies.ts'
import { type Presets } from '../../quotas/presets.ts'
import { type Usages } from '../../usage/usage.ts'
import { type Caller } from '../../users/authorize.ts'
import { type Handlers } from '../handlers.ts'

type QuotaRoutes =
  | 'listResourcePolicies'
  | 'createResourcePolicy'
  | 'updateResourcePolicy'
  | 'assignResourcePolicy'
  | 'deleteResourcePolicy'
  | 'listPresets'
  | 'createPreset'
  | 'updatePreset'
  | 'deletePreset'
  | 'getResources'
  | 'getUsage'
  | 'getUsageHistory'
  | 'getUsageReport'
  | 'listUsageReports'
  | 'getLimitUse'
  | 'recalculateUsage'
  | 'getOverview'
  | 'listIdleGpus'

interface QuotaRouteDeps {
  readonly policies: ResourcePolicies
  readonly presets: Presets
  readonly usages: Usages
  /** The caller, or the user that an admin asks for. */
  readonly ownerOf: (caller: Caller, wanted: string | undefined) => Promise<Caller>
}

export function createQuotaRoutes(deps: QuotaRouteDeps): Pick<Handlers, QuotaRoutes> {
  const { policies, presets, usages, ownerOf } = deps
  return {
    listResourcePolicies: async () => ({ items: await policies.list() }),
    createResourcePolicy: (_context, { body }) => policies.create(body),
    updateResourcePolicy: (_context, { params, body }) => policies.change(params.name, body),
    assignResourcePolicy: ({ caller }, { params, body }) => policies.assign(caller, params.name, body),
    deleteResourcePolicy: (_context, { params }) => policies.remove(params.name),
    listPresets: async ({ caller }, { query }) => ({
      items: await presets.list(await ownerOf(caller, query.owner), query),
    }),
    createPreset: ({ caller }, { body }) => presets.create(caller, body),
    updatePreset: ({ caller }, { params, body }) => presets.change(caller, params.name, body),
    deletePreset: (_context, { params }) => presets.remove(params.name),
    getResources: async ({ caller }, { query }) => usages.resources(await ownerOf(caller, query.owner), query),
    getUsage: async ({ caller }, { query }) => ({ items: await usages.of(caller, query) }),
    getUsageHistory: ({ caller }, { query }) => usages.history(caller, query),
    getUsageReport: ({ caller }, { query }) => usages.report(caller, query),
    listUsageReports: ({ caller }, { query }) => usages.reports(caller, query),
    getLimitUse: ({ caller }, { query }) => usages.limitUse(caller, query),
    getOverview: ({ caller }, { query }) => usages.overview(caller, query),
    listIdleGpus: ({ caller }, { query }) => usages.idle(caller, query),
    recalculateUsage: ({ caller }) => usages.recalculate(caller),
  }
}
