import { z } from 'zod'
import { MailAddress, TextUpTo } from '../plain-text.ts'
import { Announcement } from '../operation/announcement.ts'
import { AuthOptions, SystemSettings, SystemSettingsChange } from '../operation/settings.ts'
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
    summary: 'Change system settings. Missing fields stay as they are.',
    body: SystemSettingsChange,
    reply: SystemSettings,
  },
  getAnnouncement: {
    method: 'GET',
    path: '/api/v1/announcement',
    access: 'user',
    summary: 'The announcement of the administrators, while its period lasts.',
    reply: Announcement,
  },
  dismissAnnouncement: {
    method: 'POST',
    path: '/api/v1/announcement/dismiss',
    access: 'user',
    summary: 'Do not show an announcement to you any more. It is shown again once its text or level is changed.',
    body: z.strictObject({ id: TextUpTo(64).describe('The `id` of the announcement.') }),
    status: 204,
    reply: z.void(),
  },
  sendTestMail: {
    method: 'POST',
    path: '/api/v1/settings/test-mail',
    access: 'superadmin',
    summary: 'Send a test mail with the current settings, and return the result.',
    body: z.strictObject({ to: MailAddress }),
    status: 204,
    reply: z.void(),
  },
  authOptions: {
    method: 'GET',
    path: '/api/v1/auth/options',
    access: 'none',
    summary: 'Options of the sign-in page.',
    reply: AuthOptions,
  },
} as const satisfies Record<string, RouteSpec>
