import { type LinkPurpose } from '#manager/contract'
import { type Mail } from './mailer.ts'

/** Mails contain no text that a stranger typed (a name, say), so that only administrators can send their own words through us. */
export const mail = (to: string, subject: string, lines: readonly string[]): Mail => ({
  to,
  subject,
  text: `${lines.join('\n')}\n`,
})

const NOT_YOU = 'If this was not you, ignore this mail: nothing happens without the link.'

export function verifyMail(to: string, url: string): Mail {
  return mail(to, 'Confirm your e-mail address', [
    'Somebody signed up at Berth with this e-mail address. To confirm that it is yours, open this link within 24 hours',
    'and enter the password that you chose:',
    '',
    url,
    '',
    NOT_YOU,
  ])
}

export function resetMail(to: string, url: string): Mail {
  return mail(to, 'Set a new password', [
    'Somebody asked for a new password for your account at Berth. To set it, open this link within 30 minutes:',
    '',
    url,
    '',
    NOT_YOU,
  ])
}

export function accountLinkMail(
  to: string,
  { url, purpose, expiresAt }: { url: string; purpose: LinkPurpose; expiresAt: Date },
): Mail {
  const until = `${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  if (purpose === 'verify') {
    return mail(to, 'Confirm your e-mail address', [
      'An administrator of Berth sends you this link, with which you confirm your address. It works once:',
      '',
      url,
      '',
      `It is good until ${until}.`,
    ])
  }
  return mail(to, 'Set a new password', [
    'An administrator of Berth sends you this link, with which you set a new password for your account. It works once:',
    '',
    url,
    '',
    `It is good until ${until}. Nobody else has it.`,
  ])
}

/** @param by address of the administrator who made the account */
export function accountMail(to: string, { by, url }: { readonly by: string; readonly url: string }): Mail {
  return mail(to, 'Your account at Berth', [
    `${by} has made an account at Berth for you. To set your password, open this link within 7 days:`,
    '',
    url,
  ])
}

export function alreadyMail(to: string, publicUrl: string): Mail {
  return mail(to, 'You have an account already', [
    'Somebody signed up at Berth with this e-mail address, but there is an account with it already. Nothing was changed.',
    'Sign in here, or ask for a new password there:',
    '',
    `${publicUrl}/#/sign-in`,
  ])
}

export function confirmRequestMail(to: string, url: string): Mail {
  return mail(to, 'Confirm your request for an account', [
    'Somebody asked for an account at Berth with this e-mail address. To send the request to the administrators, open this',
    'link within 24 hours:',
    '',
    url,
    '',
    NOT_YOU,
  ])
}

/** @param request `email`: address of the person, confirmed by a link; it holds no spaces */
export function requestWaitsMail(to: string, { email, url }: { email: string; url: string }): Mail {
  return mail(to, 'Somebody asks for an account', [
    `${email} asks for an account at Berth. Accept or decline here, where all open requests are listed:`,
    '',
    url,
  ])
}

/** @param by address of the administrator who made the account */
export function acceptedMail(to: string, { by, url }: { readonly by: string; readonly url: string }): Mail {
  return mail(to, 'Your account at Berth', [
    `Your request for an account at Berth was accepted by ${by}. To set your password, open this link within 7 days:`,
    '',
    url,
  ])
}

/** @param reason words of an administrator; may be empty */
export function declinedMail(to: string, reason: string): Mail {
  return mail(to, 'Your request for an account', [
    'Your request for an account at Berth was declined.',
    ...(reason === '' ? [] : ['', 'An administrator writes:', '', reason]),
  ])
}

export function passwordSetMail(to: string): Mail {
  return mail(to, 'Your password was changed', [
    'The password of your account at Berth was changed with a link that was made for you, and every sign-in has ended.',
    'If this was not you, ask for a new password at once and tell your administrator.',
  ])
}

/** The inviter's address is the only text of another user in our mails: it was confirmed, and contains no spaces. */
export function folderInvitationMail(to: string, { inviter, publicUrl }: { inviter: string; publicUrl: string }): Mail {
  return mail(to, 'You are invited to a folder', [
    `${inviter} invites you to share a folder at Berth. Sign in to accept or decline:`,
    '',
    `${publicUrl}/`,
  ])
}

/**
 * An administrator may write their own words to owners of sessions in their domain. The line above the words says who wrote
 * them, and mails are plain text.
 */
export function messageMail(
  to: string,
  { from, text, names }: { from: string; text: string; names: readonly string[] },
): Mail {
  const shown = names.slice(0, 20).join(', ')
  const sessions = names.length > 20 ? `${shown} and ${names.length - 20} more` : shown
  return mail(to, 'A message about your sessions', [
    `${from}, an administrator of Berth, writes about your sessions (${sessions}):`,
    '',
    text,
  ])
}

export function backupFailedMail(to: string, { text, publicUrl }: { text: string; publicUrl: string }): Mail {
  return mail(to, 'A backup failed', [
    'The backup of Berth that was due could not be made:',
    '',
    text,
    '',
    `${publicUrl}/#/admin/maintenance`,
  ])
}

export function certificateMail(to: string, { text, publicUrl }: { text: string; publicUrl: string }): Mail {
  return mail(to, 'A certificate needs attention', [text, '', `${publicUrl}/#/admin`])
}

export function hostMail(to: string, { text, publicUrl, isFault }: HostMail): Mail {
  const subject = isFault ? 'A host cannot start sessions' : 'A host can start sessions again'
  return mail(to, subject, [text, '', `${publicUrl}/#/admin/agents`])
}

export function gpuMail(to: string, { text, publicUrl }: Pick<HostMail, 'text' | 'publicUrl'>): Mail {
  return mail(to, 'A GPU of a host has failed', [text, '', `${publicUrl}/#/admin/agents`])
}

export function updateMail(to: string, { text, publicUrl }: Pick<HostMail, 'text' | 'publicUrl'>): Mail {
  return mail(to, 'The update of a host has failed', [text, '', `${publicUrl}/#/admin/agents`])
}

interface HostMail {
  readonly text: string
  readonly publicUrl: string
  readonly isFault: boolean
}

export function testMail(to: string): Mail {
  return mail(to, 'Test of the mail settings', ['Berth can send mail with these settings.'])
}

export function webhookMail(
  to: string,
  { text, publicUrl }: { readonly text: string; readonly publicUrl: string },
): Mail {
  return mail(to, 'A webhook has a problem', [text, '', `${publicUrl}/#/admin/webhooks`])
}
