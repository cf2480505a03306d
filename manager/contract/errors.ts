import type { Problem } from './problem.ts'
import { isObject, isText } from '#base/shapes'

interface ErrorSpec {
  /** HTTP status of the problem document. */
  readonly status: number
  /** True where the same request may succeed later without a change. */
  readonly retry: boolean
  readonly title: string
}

/**
 * Every error a user, a client or another process of ours can receive. `docs/errors.md` says what each means and what to do about it; a
 * check compares the two in both directions.
 */
export const ERRORS = {
  // requests
  bad_request: { status: 400, retry: false, title: 'The request is not valid' },
  body_too_large: { status: 413, retry: false, title: 'The request body is too large' },
  forbidden: { status: 403, retry: false, title: 'Not allowed' },
  idempotency_key_reused: { status: 422, retry: false, title: 'The idempotency key was used for another request' },
  internal: { status: 500, retry: false, title: 'Unexpected failure' },
  method_not_allowed: { status: 405, retry: false, title: 'This address does not support the method' },
  not_found: { status: 404, retry: false, title: 'No such resource' },
  rate_limited: { status: 429, retry: true, title: 'Too many requests' },
  backup_directory: { status: 409, retry: false, title: 'Backups cannot be written' },
  backup_not_found: { status: 404, retry: false, title: 'No such backup' },
  request_in_progress: { status: 409, retry: true, title: 'The same request is still in progress' },
  unavailable: { status: 503, retry: true, title: 'Berth is not available right now' },

  // identity
  access_key_invalid: { status: 401, retry: false, title: 'Wrong access key or secret key' },
  clock_skewed: {
    status: 401,
    retry: false,
    title: 'The date of the signed request is too far from the time of the server',
  },
  email_unverified: { status: 403, retry: false, title: 'The e-mail address is not confirmed yet' },
  domain_exists: { status: 409, retry: false, title: 'A domain with this name exists' },
  domain_inactive: { status: 403, retry: false, title: 'The domain is not active' },
  domain_in_use: { status: 409, retry: false, title: 'The domain is not empty' },
  dotfile_not_found: { status: 404, retry: false, title: 'No such dotfile' },
  domain_not_found: { status: 404, retry: false, title: 'No such domain' },
  foreign_origin: { status: 403, retry: false, title: 'Requests from this origin are refused' },
  grant_invalid: { status: 401, retry: false, title: 'The access to the app is not valid' },
  invitation_invalid: { status: 403, retry: false, title: 'The invitation is unknown, used, withdrawn or expired' },
  invitation_not_found: { status: 404, retry: false, title: 'No such invitation' },
  group_exists: { status: 409, retry: false, title: 'The domain has a project with this name' },
  group_inactive: { status: 409, retry: false, title: 'The project is not active' },
  group_in_use: { status: 409, retry: false, title: 'The project is not empty' },
  group_needed: { status: 400, retry: false, title: 'A project is needed' },
  group_not_found: { status: 404, retry: false, title: 'No such project' },
  join_token_invalid: { status: 401, retry: false, title: 'The join token is unknown, used, withdrawn or expired' },
  keypair_not_waiting: { status: 409, retry: false, title: 'The keypair does not wait for you' },
  keypair_waits: { status: 409, retry: false, title: 'The keypair waits for its owner' },
  keypair_inactive: { status: 401, retry: false, title: 'The keypair is not active' },
  keypair_in_use: { status: 409, retry: false, title: 'Sessions were launched with this keypair' },
  keypair_not_found: { status: 404, retry: false, title: 'No such keypair' },
  last_superadmin: { status: 409, retry: false, title: 'No other superadmin is active' },
  link_invalid: { status: 403, retry: false, title: 'The link is unknown, used or expired' },
  login_failed: { status: 401, retry: false, title: 'Wrong e-mail address or password' },
  password_sign_in_off: { status: 403, retry: false, title: 'Signing in with a password is switched off' },
  access_token_not_found: { status: 404, retry: false, title: 'No such access token' },
  login_not_found: { status: 404, retry: false, title: 'No such sign-in' },
  login_throttled: { status: 429, retry: true, title: 'Too many failed sign-ins' },
  mail_failed: { status: 502, retry: true, title: 'The mail could not be sent' },
  mail_not_configured: { status: 409, retry: false, title: 'Mail is not set up' },
  master_key_in_use: { status: 409, retry: false, title: 'Managers run with the old master key' },
  master_key_mismatch: { status: 409, retry: false, title: 'The master key does not fit this database' },
  not_signed_in: { status: 401, retry: false, title: 'Sign in first' },
  over_dotfile_limit: { status: 409, retry: false, title: 'The dotfiles are too many or too large' },
  password_change_required: { status: 403, retry: false, title: 'Choose a new password to sign in' },
  keypair_exists: { status: 409, retry: false, title: 'The access key is taken' },
  password_unchanged: { status: 400, retry: false, title: 'The new password is the same as the old one' },
  proof_required: { status: 403, retry: false, title: 'Prove once more who you are' },
  signature_invalid: { status: 401, retry: false, title: 'The signature of the request is not valid' },
  signature_replayed: { status: 401, retry: false, title: 'This signed request was received before' },
  sign_up_request_not_found: { status: 404, retry: false, title: 'No such request for an account' },
  sign_up_closed: { status: 403, retry: false, title: 'Sign-up is closed' },
  ticket_invalid: { status: 401, retry: false, title: 'The sign-in link is unknown, used or expired' },
  sign_in_provider_exists: { status: 409, retry: false, title: 'A sign-in provider with this id exists' },
  sign_in_provider_in_use: { status: 409, retry: false, title: 'Users sign in with this provider only' },
  sign_in_provider_not_found: { status: 404, retry: false, title: 'No such sign-in provider' },
  identity_needed: { status: 409, retry: false, title: 'It is your only way to sign in' },
  identity_not_found: { status: 404, retry: false, title: 'No such account at a sign-in provider' },
  identity_taken: { status: 409, retry: false, title: 'The account at the sign-in provider cannot be linked' },
  sso_account_taken: { status: 409, retry: false, title: 'An account with this e-mail address exists' },
  sso_clock_off: { status: 401, retry: true, title: 'The clocks of Berth and the sign-in provider differ' },
  sso_denied: { status: 403, retry: false, title: 'The sign-in provider refused the sign-in' },
  sso_email_domain: { status: 403, retry: false, title: 'Addresses of this mail domain are not accepted' },
  sso_email_missing: { status: 403, retry: false, title: 'The sign-in provider did not send an e-mail address' },
  sso_email_unverified: {
    status: 403,
    retry: false,
    title: 'The sign-in provider has not verified the e-mail address',
  },
  sso_expired: { status: 401, retry: false, title: 'This sign-in was used, has expired or began elsewhere' },
  sso_login_failed: { status: 401, retry: false, title: 'Wrong name or password' },
  sso_no_account: { status: 403, retry: false, title: 'You have no account here' },
  sso_provider_unreachable: { status: 503, retry: true, title: 'The sign-in provider does not answer' },
  sso_provider_wrong: { status: 502, retry: false, title: 'The sign-in provider does not fit its settings' },
  sso_token_invalid: { status: 401, retry: false, title: 'The answer of the sign-in provider is not valid' },
  totp_invalid: { status: 401, retry: false, title: 'The code is wrong, expired or was used before' },
  totp_not_on: { status: 409, retry: false, title: 'The second factor is off' },
  totp_on: { status: 409, retry: false, title: 'The second factor is already on' },
  totp_required: { status: 401, retry: false, title: 'A code from your authenticator app is needed' },
  over_webhook_limit: { status: 409, retry: false, title: 'Too many webhooks' },
  webhook_delivery_not_found: { status: 404, retry: false, title: 'No such delivery' },
  webhook_inactive: { status: 409, retry: false, title: 'The webhook is off' },
  scim_token_not_found: { status: 404, retry: false, title: 'No such SCIM token' },
  webhook_not_found: { status: 404, retry: false, title: 'No such webhook' },
  weak_password: { status: 400, retry: false, title: 'The password does not meet the rules' },

  // folders
  directory_not_empty: { status: 409, retry: false, title: 'The directory is not empty' },
  file_changed: { status: 412, retry: false, title: 'The file has changed meanwhile' },
  file_exists: { status: 409, retry: false, title: 'A file of this name exists' },
  file_kind_refused: { status: 409, retry: false, title: 'Not the right kind of file' },
  file_not_found: { status: 404, retry: false, title: 'No such file' },
  folder_busy: { status: 409, retry: true, title: 'Programs of the session use the folder' },
  folder_exists: { status: 409, retry: false, title: 'A folder of this name exists' },
  folder_incomplete: { status: 409, retry: true, title: 'The folder is still being copied' },
  folder_in_use: { status: 409, retry: false, title: 'A session uses the folder' },
  folder_invitation_not_found: { status: 404, retry: false, title: 'No such invitation to a folder' },
  folder_member_exists: { status: 409, retry: false, title: 'The user is a member of the folder' },
  folder_member_not_found: { status: 404, retry: false, title: 'The folder has no such member' },
  folder_not_trashed: { status: 409, retry: false, title: 'The folder is not in the trash' },
  folder_not_found: { status: 404, retry: false, title: 'No such folder' },
  folder_path_taken: { status: 409, retry: false, title: 'There is something at this path in the session' },
  folder_shared: { status: 409, retry: false, title: 'The folder is shared' },
  over_folder_limit: { status: 409, retry: false, title: 'The resource policy allows no more folders' },
  over_share_limit: { status: 409, retry: false, title: 'The folder is shared with as many as possible' },
  over_person_limit: { status: 409, retry: false, title: 'Too many for one person' },
  over_upload_limit: { status: 409, retry: false, title: 'Too many unfinished uploads' },
  path_invalid: { status: 400, retry: false, title: 'The path is not valid' },
  range_invalid: { status: 416, retry: false, title: 'The file has no such range' },
  too_many_files: { status: 409, retry: false, title: 'Too many files at once' },
  quota_folder_full: { status: 507, retry: false, title: 'The folder has reached its size limit' },
  quota_folder_files: { status: 507, retry: false, title: 'The folder has as many files as it may' },
  quota_total_files: { status: 507, retry: false, title: 'Your folders have as many files as they may' },
  quota_total_full: { status: 507, retry: false, title: 'Your folders have reached their size limit' },
  storage_away: { status: 503, retry: true, title: 'The storage of the folder is away' },
  upload_damaged: { status: 422, retry: false, title: 'The upload arrived damaged' },
  upload_incomplete: { status: 409, retry: false, title: 'The upload is not complete' },
  upload_locked: { status: 423, retry: true, title: 'The upload is in use by another request' },
  upload_not_found: { status: 404, retry: false, title: 'No such upload' },
  upload_offset: { status: 409, retry: true, title: 'The upload continues at another offset' },
  upload_stalled: { status: 408, retry: true, title: 'The upload has stopped' },
  upload_version: { status: 412, retry: false, title: 'Another version of the upload protocol is needed' },
  storage_host_not_found: { status: 404, retry: false, title: 'No such storage host' },

  // sessions
  agent_failed: { status: 502, retry: false, title: 'The host could not carry out the request' },
  agent_unreachable: { status: 503, retry: true, title: 'The host of this session is not connected' },
  app_failed: { status: 502, retry: true, title: 'The app did not start' },
  app_not_found: { status: 404, retry: false, title: 'The session has no such app' },
  public_link_refused: { status: 403, retry: false, title: 'The link does not let you in' },
  apps_address_missing: { status: 409, retry: false, title: 'Berth has no address for apps' },
  public_port_taken: { status: 409, retry: true, title: 'No port is left for an app' },
  published_app_not_found: { status: 404, retry: false, title: 'No such published app' },
  published_apps_limit: { status: 409, retry: false, title: 'Too many published apps' },
  publishing_off: { status: 403, retry: false, title: 'Apps cannot be published here' },
  app_option_refused: { status: 400, retry: false, title: 'The app does not take this option' },
  dependency_not_found: { status: 404, retry: false, title: 'A session to wait for does not exist' },
  extension_refused: { status: 409, retry: false, title: 'The session cannot be extended' },
  files_gone: { status: 410, retry: false, title: 'The files of the session are not available' },
  image_alias_exists: { status: 409, retry: false, title: 'The alias is taken' },
  image_alias_not_found: { status: 404, retry: false, title: 'No such alias of an image' },
  image_defaults_not_found: { status: 404, retry: false, title: 'No defaults for this image' },
  image_exists: { status: 409, retry: false, title: 'There is an image with this name' },
  image_build_failed: { status: 422, retry: false, title: 'The image could not be built' },
  image_push_failed: { status: 502, retry: true, title: 'The image could not be pushed' },
  image_ambiguous: { status: 409, retry: false, title: 'Several images have this name' },
  image_request_not_found: { status: 404, retry: false, title: 'No such request for an image' },
  image_not_found: { status: 404, retry: false, title: 'No such image' },
  image_without_program: { status: 409, retry: false, title: 'The image has no program of its own' },
  over_concurrency_limit: { status: 409, retry: false, title: 'The resource policy allows no sessions' },
  over_container_limit: { status: 409, retry: false, title: 'The request exceeds the container limit' },
  over_domain_limit: { status: 409, retry: false, title: 'The request exceeds the limit of the domain' },
  over_group_limit: { status: 409, retry: false, title: 'The request exceeds the limit of the project' },
  over_keypair_policy: { status: 409, retry: false, title: 'The request exceeds the limit of the keypair' },
  over_user_policy: { status: 409, retry: false, title: 'The request exceeds the limit of the user' },
  port_silent: { status: 502, retry: true, title: 'No program listens on this port' },
  preset_exists: { status: 409, retry: false, title: 'A preset with this name exists' },
  preset_not_found: { status: 404, retry: false, title: 'No such preset' },
  network_not_allowed: { status: 403, retry: false, title: 'The session may not have this network' },
  network_not_enforceable: { status: 409, retry: false, title: 'No host can keep the session from the network' },
  no_host_network: { status: 409, retry: false, title: 'Too few hosts have a network between them' },
  request_too_large: { status: 409, retry: false, title: 'No host is large enough for this request' },
  resource_group_exists: { status: 409, retry: false, title: 'A resource group with this name exists' },
  resource_group_inactive: { status: 409, retry: false, title: 'The resource group is closed' },
  resource_group_in_use: { status: 409, retry: false, title: 'The resource group is not empty' },
  resource_group_not_found: { status: 404, retry: false, title: 'No such resource group' },
  resource_policy_exists: { status: 409, retry: false, title: 'A resource policy with this name exists' },
  resource_policy_in_use: { status: 409, retry: false, title: 'The resource policy is in use' },
  resource_policy_not_found: { status: 404, retry: false, title: 'No such resource policy' },
  session_folders_fixed: { status: 409, retry: false, title: 'The folders of this session cannot be changed now' },
  session_live: { status: 409, retry: false, title: 'The session has not ended yet' },
  session_member_not_found: { status: 404, retry: false, title: 'The project has no such member' },
  session_name_taken: { status: 409, retry: false, title: 'A live session has this name' },
  session_not_found: { status: 404, retry: false, title: 'No such session' },
  command_not_found: { status: 404, retry: false, title: 'No such command' },
  commands_at_most: { status: 429, retry: true, title: 'Too many commands at once' },
  session_not_running: { status: 409, retry: true, title: 'The session is not running' },
  session_not_waiting: { status: 409, retry: false, title: 'The session does not wait in the queue any more' },
  session_share_refused: { status: 409, retry: false, title: 'The session cannot be shared like this' },
  ssh_key_invalid: { status: 400, retry: false, title: 'Not a usable SSH public key' },
  template_not_found: { status: 404, retry: false, title: 'No such template' },
  too_many_image_defaults: { status: 409, retry: false, title: 'You have defaults for too many images' },
  too_many_templates: { status: 409, retry: false, title: 'You have too many templates' },
  user_exists: { status: 409, retry: false, title: 'A user with this e-mail address exists' },
  user_inactive: { status: 401, retry: false, title: 'The account is not active' },
  user_not_found: { status: 404, retry: false, title: 'No such user' },

  // images and registries
  registry_exists: { status: 409, retry: false, title: 'A registry with this name exists' },
  registry_failed: { status: 502, retry: true, title: 'The registry answered with an error' },
  registry_not_found: { status: 404, retry: false, title: 'No such registry' },
  registry_refused: { status: 502, retry: false, title: 'The registry refused the sign-in' },
  registry_unreachable: { status: 502, retry: true, title: 'The registry does not answer' },
  task_not_found: { status: 404, retry: false, title: 'No such task' },

  // agents and engines
  agent_leaving: { status: 409, retry: false, title: 'The host is leaving' },
  agent_not_updatable: { status: 409, retry: false, title: 'Berth cannot update this agent' },
  agent_in_use: { status: 409, retry: true, title: 'The agent cannot be moved' },
  agent_not_found: { status: 404, retry: false, title: 'No such agent' },
  agent_revoked: { status: 401, retry: false, title: 'This agent was revoked' },
  agent_running_elsewhere: { status: 409, retry: false, title: 'Another process runs as this agent' },
  device_in_use: { status: 409, retry: true, title: 'The device is in use' },
  device_mode_fixed: { status: 409, retry: false, title: 'MIG is set up on the host, not in Berth' },
  device_not_found: { status: 404, retry: false, title: 'The agent has no such device' },
  disk_full: { status: 507, retry: true, title: 'Too little disk space' },
  engine_already_managed: { status: 409, retry: false, title: 'Another agent manages this Docker Engine' },
  engine_busy: { status: 503, retry: true, title: 'The Docker Engine is overloaded' },
  engine_unreachable: { status: 503, retry: true, title: 'The Docker Engine does not answer' },
  kernel_create_failed: { status: 502, retry: true, title: 'The container could not be started' },
  kernel_not_found: { status: 404, retry: false, title: 'No such container on this host' },
  network_range_taken: { status: 409, retry: false, title: 'The network range for sessions overlaps a host route' },
  toolbox_missing: { status: 503, retry: true, title: 'The toolbox image is missing on the host' },

  // local proxy and desktop
  app_open_elsewhere: { status: 409, retry: false, title: 'The app is open on another port' },
  backup_damaged: { status: 400, retry: false, title: 'The backup is damaged' },
  certificate_order_failed: { status: 502, retry: true, title: 'The certificate could not be ordered' },
  certificate_unusable: { status: 400, retry: false, title: 'The certificate of the server cannot be used' },
  config_invalid: { status: 400, retry: false, title: 'The configuration is not valid' },
  data_dir_locked: { status: 409, retry: false, title: 'Another Berth uses this data directory' },
  data_version_unsupported: { status: 409, retry: false, title: 'The data directory belongs to another version' },
  database_not_empty: { status: 409, retry: false, title: 'The database is not empty' },
  port_in_use: { status: 409, retry: false, title: 'The local port is in use' },
  port_not_allowed: { status: 403, retry: false, title: 'The local port is reserved' },
  tunnel_failed: { status: 502, retry: true, title: 'The connection to the app could not be opened' },
  tunnel_not_found: { status: 404, retry: false, title: 'No such tunnel' },
} as const satisfies Record<string, ErrorSpec>

export type ErrorCode = keyof typeof ERRORS

/** Numbers and names that make the message specific. Never secrets. */
export type ErrorDetail = Readonly<Record<string, unknown>>

/** The plain-data form on IPC and WebSocket. */
export interface WireError {
  readonly code: ErrorCode
  readonly message: string
  readonly detail: ErrorDetail
}

export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  readonly detail: ErrorDetail

  /** @param detail may hold `why`: a sentence for the user that names the cause and the next step */
  constructor(code: ErrorCode, detail: ErrorDetail = {}, options?: ErrorOptions) {
    super(typeof detail.why === 'string' ? `${ERRORS[code].title}: ${detail.why}` : ERRORS[code].title, options)
    this.code = code
    this.detail = detail
  }
}

/** By shape, not `instanceof`: the class may come from another bundle or realm. */
export function isAppError(error: unknown): error is AppError {
  return error instanceof Error && 'code' in error && isErrorCode(error.code) && 'detail' in error
}

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERRORS, code)
}

/** The reason in an error, in English; undefined if it has none. */
export function whyOf(error: unknown): string | undefined {
  return isAppError(error) && typeof error.detail.why === 'string' ? error.detail.why : undefined
}

/** Plain-data form of an error. An error without a code becomes `internal`, without its text: the cause stays in our log. */
export function toWireError(error: unknown): WireError {
  return isAppError(error)
    ? { code: error.code, message: error.message, detail: error.detail }
    : { code: 'internal', message: ERRORS.internal.title, detail: {} }
}

export function toProblem(error: unknown): Problem {
  const { code, message, detail } = toWireError(error)
  const { status, retry, title } = ERRORS[code]
  const why = typeof detail.why === 'string' ? detail.why : message
  return { type: `urn:berth:error:${code}`, title, status, detail: why, code, retry, data: detail }
}

/** Accepts what the schema `Problem` accepts, without loading the schemas. */
export function isProblem(value: unknown): value is Problem {
  if (!isObject(value)) return false
  const { type, title, status, detail, code, retry, data } = value
  return (
    isText(type) &&
    isText(title) &&
    Number.isSafeInteger(status) &&
    (detail === undefined || isText(detail)) &&
    isText(code) &&
    typeof retry === 'boolean' &&
    (data === undefined || isObject(data))
  )
}

/** The error a client throws for a problem document; an unknown code (newer server) becomes `internal`. */
export function fromProblem(problem: Problem): AppError {
  const code = isErrorCode(problem.code) ? problem.code : 'internal'
  const { data, detail = problem.title } = problem
  // A detail that only repeats the title says nothing more.
  const isSaid = data?.why !== undefined || detail === ERRORS[code].title
  return new AppError(code, { ...data, ...(isSaid ? {} : { why: detail }) })
}
