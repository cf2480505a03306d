import { ERRORS, isAppError, type ErrorCode } from '#manager/contract'

export interface ErrorText {
  readonly title: string
  /** The cause, with the numbers and names of this case; may be empty. */
  readonly why: string
  /** The next step that the user can take. Empty if there is none. */
  readonly next: string
  readonly retry: boolean
  readonly code: ErrorCode
}

const AGAIN = 'Try again in a moment.'
const NEXT: Readonly<Partial<Record<ErrorCode, string>>> = {
  agent_unreachable:
    'The session keeps running. Wait until its host is back, or ask the administrator to look at the host.',
  app_failed: 'Look at the log of the session for the cause, then try again.',
  app_not_found: 'Choose an app that the image of this session offers.',
  app_open_elsewhere: 'Close the connections on the other port, or use the port that is open.',
  bad_request: 'Correct the marked values and send again.',
  body_too_large: 'Send less at once.',
  dependency_not_found: 'Choose among your sessions that are still in the list.',
  disk_full: 'Free disk space on the computer that runs the sessions, then try again.',
  domain_inactive: 'Ask an administrator to activate it again.',
  email_unverified: 'Open the link in the mail that we sent you.',
  engine_unreachable: 'Start Docker on the computer that runs the sessions.',
  extension_refused: 'Save your work and start a new session, or ask an administrator for a longer lifetime.',
  forbidden: 'Ask the owner of the session or an administrator.',
  files_gone: 'Start a new session.',
  folder_exists: 'Choose another name.',
  folder_in_use: 'End the sessions that use it first.',
  folder_not_trashed: 'Move it to the trash first.',
  folder_not_found: 'The folder may have been removed. Reload the list.',
  foreign_origin: 'Open the console at its own address.',
  grant_invalid: 'Open the app again.',
  group_inactive: 'Choose another of your projects, or ask an administrator to activate it.',
  group_not_found: 'Choose another of your projects, or ask an administrator to add you to it.',
  image_not_found: 'Choose one of the images in the list.',
  image_without_program: 'Launch the image with a startup command instead.',
  internal: 'Try again. If it happens again, the log of the manager has the cause.',
  invitation_invalid: 'Ask an administrator for a new one.',
  kernel_create_failed: 'Look at the timeline of the session for the cause, then launch a copy.',
  link_invalid: 'Ask for a new one.',
  login_failed: 'Check both and try again.',
  login_throttled: 'Wait until the time is over.',
  mail_failed: 'Try again later, or tell the administrator.',
  mail_not_configured: 'Ask an administrator for a link.',
  network_range_taken: 'Ask the administrator to choose another network range for sessions.',
  not_found: 'The page or the object may have been removed. Go back and reload.',
  not_signed_in: 'Sign in again to continue where you were.',
  over_concurrency_limit: 'Ask an administrator for another resource policy.',
  over_container_limit: 'Ask for fewer containers, or an administrator for another resource policy.',
  over_domain_limit: 'Ask for less, or an administrator for a higher limit.',
  over_folder_limit: 'Delete a folder permanently, or ask an administrator for another resource policy.',
  over_group_limit: 'Ask for less, or choose another project.',
  over_keypair_policy: 'Ask for less, or an administrator for another resource policy.',
  over_user_policy: 'Ask for less, or an administrator for another resource policy.',
  password_unchanged: 'Choose a password that differs from your current one.',
  port_silent: 'Start your program in the session, then open the port again.',
  port_in_use: 'Choose another port, or let Berth take any free one.',
  rate_limited: AGAIN,
  request_too_large: 'Lower the request to what one host has.',
  resource_group_inactive: 'Choose another resource group.',
  resource_group_not_found: 'Choose another resource group, or ask an administrator for access to it.',
  storage_away: 'Try again later. If it stays so, an administrator has to mount the storage.',
  storage_host_not_found: 'Ask an administrator for storage.',
  session_live: 'End it first, or wait until it has ended.',
  session_name_taken: 'Choose another name, or terminate the session that has it.',
  session_not_found: 'The session may have been removed. Reload the list.',
  session_not_running: 'Wait until it runs, or start a new one.',
  sign_up_closed: 'Ask an administrator for an account.',
  ssh_key_invalid: 'Paste the whole line of a .pub file. An RSA key needs at least 2048 bits.',
  ticket_invalid: 'Run "berth up" again for a new link, or sign in with your password.',
  toolbox_missing: 'Run `npm start` again on that computer to build it.',
  totp_required: 'Enter the code that your app shows now.',
  tunnel_failed: AGAIN,
  tunnel_not_found: 'Open the app again.',
  unavailable: 'Check that Berth is running, then try again.',
  user_inactive: 'Ask an administrator to activate it again.',
  weak_password: 'Choose a longer or more varied password.',
}

/** The text of an error: what happened, why, and the next step. Unknown failures say so instead of guessing. */
export function errorText(error: unknown): ErrorText {
  const code = isAppError(error) ? error.code : 'internal'
  const { title, retry } = ERRORS[code]
  const detail = isAppError(error) ? error.detail : {}
  const why = typeof detail.why === 'string' && detail.why !== title ? sentence(detail.why) : ''
  return {
    title,
    why: why.startsWith(`${title}: `) ? sentence(why.slice(title.length + 2)) : why,
    next: NEXT[code] ?? (retry ? AGAIN : ''),
    retry,
    code,
  }
}

/** The text of an error in one line, for places with little room. */
export function errorLine(error: unknown): string {
  const { title, why, next } = errorText(error)
  return [sentence(title), why, next].filter(Boolean).join(' ')
}

function sentence(text: string): string {
  const trimmed = text.trim()
  return /[.!?]$/.test(trimmed) || trimmed === '' ? trimmed : `${trimmed}.`
}
