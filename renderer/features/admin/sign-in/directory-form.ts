import { type DirectorySettings } from '#manager/contract'

/** Fields of a directory in the form, as texts. */
export interface DirectoryDraft {
  urls: string
  startTls: boolean
  caCertificates: string
  bind: 'account' | 'person'
  bindDn: string
  directBind: string
  base: string
  userFilter: string
  idAttribute: string
  mailAttribute: string
  nameAttribute: string
  groups: DirectorySettings['groups']
  groupBase: string
  groupFilter: string
}

const OPEN_LDAP: DirectoryDraft = {
  urls: '',
  startTls: false,
  caCertificates: '',
  bind: 'account',
  bindDn: '',
  directBind: 'uid={username},ou=people,dc=example,dc=org',
  base: '',
  userFilter: '(uid={username})',
  idAttribute: 'entryUUID',
  mailAttribute: 'mail',
  nameAttribute: 'cn',
  groups: 'none',
  groupBase: '',
  groupFilter: '(member={dn})',
}

/** Settings that the two kinds of directories usually need. */
export const DIRECTORY_DEFAULTS = {
  ldap: OPEN_LDAP,
  activeDirectory: {
    ...OPEN_LDAP,
    directBind: '{username}@example.org',
    userFilter: '(sAMAccountName={username})',
    idAttribute: 'objectGUID',
    nameAttribute: 'displayName',
  },
} as const satisfies Record<string, DirectoryDraft>

export function draftOf(directory: DirectorySettings): DirectoryDraft {
  const { urls, caCertificates, bindDn, directBind, groupBase, ...same } = directory
  return {
    ...same,
    urls: urls.join('\n'),
    caCertificates: caCertificates ?? '',
    bind: bindDn === null ? 'person' : 'account',
    bindDn: bindDn ?? '',
    directBind: directBind ?? '',
    groupBase: groupBase ?? '',
  }
}

const textOr = (text: string) => (text.trim() === '' ? null : text.trim())

export function settingsOf(draft: DirectoryDraft): DirectorySettings {
  const { bind, urls, caCertificates, bindDn, directBind, base, groupBase, ...same } = draft
  return {
    ...same,
    urls: urls.split(/[\s,]+/).filter(Boolean),
    caCertificates: textOr(caCertificates),
    bindDn: bind === 'account' ? bindDn.trim() : null,
    directBind: bind === 'person' ? directBind.trim() : null,
    base: base.trim(),
    groupBase: textOr(groupBase),
  }
}

/** Whether the stored password belongs to another server or account than these settings name. */
export function needsPassword(before: DirectorySettings, draft: DirectoryDraft): boolean {
  const sentTo = ({ urls, startTls, caCertificates, bindDn }: DirectorySettings) =>
    JSON.stringify([urls, startTls, caCertificates, bindDn])
  return draft.bind === 'account' && sentTo(before) !== sentTo(settingsOf(draft))
}
