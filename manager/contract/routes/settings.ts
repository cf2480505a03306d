import { z } from 'zod'
import { AuthOptions, SystemSettings, SystemSettingsChange } from '../settings.ts'
import { type RouteSpec } from './route-spec.ts'

/** Settings that a superadmin changes at runtime. */
export const SETTINGS_ROUTES = {
  getSettings: {
    method: 'GET',
    path: '/api/v1/settings',
    access: 'superadmin',
    summary: 'System settings; secrets are never shown.',
    reply: SystemSettings,
  },
  updateSettings: {
    method: 'PATCH',
    path: '/api/v1/settings',
    access: 'superadmin',
    summary: 'Change system settings; what is left out stays.',
    body: SystemSettingsChange,
    reply: SystemSettings,
  },
  sendTestMail: {
    method: 'POST',
    path: '/api/v1/settings/test-mail',
    access: 'superadmin',
    summary: 'Send a mail with the settings as they are, and say how that went.',
    body: z.strictObject({ to: z.email().max(254) }),
    status: 204,
    reply: z.void(),
  },
  authOptions: {
    method: 'GET',
    path: '/api/v1/auth/options',
    access: 'none',
    summary: 'What the sign-in page may offer.',
    reply: AuthOptions,
  },
} as const satisfies Record<string, RouteSpec>
