import { type ScopeUsage } from '#manager/contract'
import { t } from '../../words/en/usage-scopes.ts'

export function scopeTitle({ kind, name }: ScopeUsage): string {
  return kind === 'user' ? t('you') : t(kind, { name })
}

/** Says whose sessions count towards a scope, and where its limit comes from. */
export function scopeNote({ kind, policy }: ScopeUsage): string {
  const whose = {
    user: t('yourSessions'),
    keypair: t('keypairSessions'),
    group: t('projectSessions'),
    domain: t('domainSessions'),
  }[kind]
  return policy === null ? whose : `${whose} · ${t('policy', { name: policy })}`
}
