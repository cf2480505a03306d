import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'
import { Preset, PresetChange, PresetName, PresetSpec } from '../quotas/presets.ts'
import { type RouteSpec } from './route-spec.ts'

const named = z.object({ name: PresetName })

/** Presets: session sizes that users choose from. */
export const PRESET_ROUTES = {
  listPresets: {
    method: 'GET',
    path: '/api/v1/presets',
    access: 'user',
    summary: 'List presets, and whether the caller could start each now.',
    query: z.object({
      resourceGroup: TextUpTo(64).default('default'),
      group: TextUpTo(64).optional().describe('Id or name of the group (project) of the session.'),
      owner: TextUpTo(254).optional().describe('For admins: e-mail address or id of another user, whose limits count.'),
      fitting: z.stringbool().optional().describe('Only presets that fit.'),
      fits: z
        .stringbool()
        .default(true)
        .describe('False: the presets come without `fits`, which needs a look at every agent.'),
    }),
    reply: z.object({ items: z.array(Preset) }),
  },
  createPreset: {
    method: 'POST',
    path: '/api/v1/presets',
    access: 'superadmin',
    idempotencyKey: true,
    summary: 'Create a preset.',
    body: PresetSpec,
    status: 201,
    reply: Preset,
  },
  updatePreset: {
    method: 'PATCH',
    path: '/api/v1/presets/:name',
    access: 'superadmin',
    summary: 'Change a preset. Missing fields stay as they are.',
    params: named,
    body: PresetChange,
    reply: Preset,
  },
  deletePreset: {
    method: 'DELETE',
    path: '/api/v1/presets/:name',
    access: 'superadmin',
    summary: 'Delete a preset.',
    params: named,
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
