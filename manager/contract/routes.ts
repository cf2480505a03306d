import { ACCESS_TOKEN_ROUTES } from './routes/access-tokens.ts'
import { ACCOUNT_ROUTES } from './routes/accounts.ts'
import { AGENT_ROUTES } from './routes/agents.ts'
import { AUDIT_ROUTES } from './routes/audit.ts'
import { AUTH_ROUTES } from './routes/auth.ts'
import { BACKUP_ROUTES } from './routes/backups.ts'
import { BUNDLE_ROUTES } from './routes/bundles.ts'
import { DIAGNOSTICS_ROUTES } from './routes/diagnostics.ts'
import { DOMAIN_ROUTES } from './routes/domains.ts'
import { FOLDER_SHARING_ROUTES } from './routes/folder-sharing.ts'
import { FILE_ROUTES } from './routes/files.ts'
import { FOLDER_ROUTES } from './routes/folders.ts'
import { GRANT_ROUTES } from './routes/grants.ts'
import { HOME_FILE_ROUTES } from './routes/home-files.ts'
import { IMAGE_DEFAULTS_ROUTES } from './routes/image-defaults.ts'
import { IMAGE_ROUTES } from './routes/images.ts'
import { KEYPAIR_ROUTES } from './routes/keypairs.ts'
import { MANAGER_ROUTES } from './routes/managers.ts'
import { MESSAGE_ROUTES } from './routes/messages.ts'
import { OVERVIEW_ROUTES } from './routes/overview.ts'
import { REGISTRY_ROUTES } from './routes/registries.ts'
import { POLICY_ROUTES } from './routes/policies.ts'
import { OWN_APP_ROUTES } from './routes/own-apps.ts'
import { PUBLISHED_APP_ROUTES } from './routes/published-apps.ts'
import { PRESET_ROUTES } from './routes/presets.ts'
import { QUEUE_ROUTES } from './routes/queue.ts'
import { RESOURCE_GROUP_ROUTES } from './routes/resource-groups.ts'
import { SCHEDULING_ROUTES } from './routes/scheduling.ts'
import { SESSION_TEMPLATE_ROUTES } from './routes/session-templates.ts'
import { SESSION_ROUTES } from './routes/sessions.ts'
import { SETTINGS_ROUTES } from './routes/settings.ts'
import { SIGN_IN_PROVIDER_ROUTES } from './routes/sign-in-providers.ts'
import { UPLOAD_ROUTES } from './routes/uploads.ts'
import { USAGE_ROUTES } from './routes/usage.ts'
import { SSH_KEYPAIR_ROUTES } from './routes/ssh-keypair.ts'
import { USER_ROUTES } from './routes/users.ts'
import { SCIM_TOKEN_ROUTES } from './routes/scim-tokens.ts'
import { WEBHOOK_ROUTES } from './routes/webhooks.ts'

export { MOST_SESSION_IDS } from './routes/sessions.ts'
export { type Access, type RouteSpec } from './routes/route-spec.ts'

/** The whole HTTP surface of the manager below /api/v1 and /console/v1, in one table: server, typed client and OpenAPI read it. */
export const ROUTES = {
  ...AUTH_ROUTES,
  ...AUDIT_ROUTES,
  ...USER_ROUTES,
  ...ACCOUNT_ROUTES,
  ...SETTINGS_ROUTES,
  ...SIGN_IN_PROVIDER_ROUTES,
  ...DOMAIN_ROUTES,
  ...KEYPAIR_ROUTES,
  ...ACCESS_TOKEN_ROUTES,
  ...SSH_KEYPAIR_ROUTES,
  ...HOME_FILE_ROUTES,
  ...SCHEDULING_ROUTES,
  ...SESSION_ROUTES,
  ...QUEUE_ROUTES,
  ...SESSION_TEMPLATE_ROUTES,
  ...FOLDER_ROUTES,
  ...FOLDER_SHARING_ROUTES,
  ...UPLOAD_ROUTES,
  ...BUNDLE_ROUTES,
  ...FILE_ROUTES,
  ...GRANT_ROUTES,
  ...OWN_APP_ROUTES,
  ...PUBLISHED_APP_ROUTES,
  ...IMAGE_DEFAULTS_ROUTES,
  ...IMAGE_ROUTES,
  ...REGISTRY_ROUTES,
  ...AGENT_ROUTES,
  ...MANAGER_ROUTES,
  ...DIAGNOSTICS_ROUTES,
  ...BACKUP_ROUTES,
  ...MESSAGE_ROUTES,
  ...SCIM_TOKEN_ROUTES,
  ...WEBHOOK_ROUTES,
  ...RESOURCE_GROUP_ROUTES,
  ...POLICY_ROUTES,
  ...PRESET_ROUTES,
  ...USAGE_ROUTES,
  ...OVERVIEW_ROUTES,
} as const

export type RouteName = keyof typeof ROUTES
