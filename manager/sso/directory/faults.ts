import { ResultCodeError } from 'ldapts'
import { AppError, because, type DirectorySettings } from '#manager/contract'
import { DirectoryFailure, RefusedDirectory, SlowDirectory } from './connection.ts'

/** The question that a directory could not answer. */
export type Question = 'bind' | 'base' | 'filter' | 'groups'

/** An answer of the directory with a code other than success. */
export class DirectoryAnswer extends Error {
  override readonly name = 'DirectoryAnswer'
  readonly question: Question

  constructor(question: Question, cause: unknown) {
    super(`the directory did not answer the question (${question})`, { cause })
    this.question = question
  }
}

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

const NO_NAME: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA'])

/**
 * A failure at a directory in words for its administrator; the failure itself is the cause, for the log.
 *
 * @param settings what they say is named, as far as it is no secret
 */
export function directoryFault(error: unknown, settings: DirectorySettings): AppError {
  const options = { cause: error }
  if (error instanceof DirectoryFailure) {
    const { host, stage, cause } = error
    const code = codeOf(cause) ?? 'unknown'
    const away = (text: ReturnType<typeof because>) => new AppError('sso_provider_unreachable', text, options)
    const wrong = (text: ReturnType<typeof because>) => new AppError('sso_provider_wrong', text, options)
    if (cause instanceof RefusedDirectory) return wrong(because('directory_address', { host }))
    if (cause instanceof SlowDirectory) return away(because('directory_slow', { host }))
    if (stage === 'starttls') return wrong(because('directory_starttls', { host }))
    if (stage === 'tls') return wrong(because('directory_tls', { host, reason: code }))
    if (NO_NAME.has(code)) return away(because('directory_name', { host }))
    return away(because('directory_away', { host, reason: code }))
  }
  if (error instanceof DirectoryAnswer && error.cause instanceof ResultCodeError) {
    const { question, cause } = error
    const wrong = (text: ReturnType<typeof because>) => new AppError('sso_provider_wrong', text, options)
    // busy, unavailable (RFC 4511, section 4.1.9)
    if (cause.code === 51 || cause.code === 52) {
      return new AppError('sso_provider_unreachable', because('directory_busy'), options)
    }
    switch (question) {
      case 'bind':
        return wrong(
          because('directory_bind', { account: settings.bindDn ?? settings.directBind ?? '', code: cause.code }),
        )
      case 'base':
        return wrong(because('directory_base', { base: settings.base, code: cause.code }))
      case 'filter':
        return wrong(because('directory_search', { base: settings.base, code: cause.code }))
      case 'groups':
        return wrong(because('directory_groups', { base: settings.groupBase ?? settings.base, code: cause.code }))
    }
  }
  if (error instanceof DirectoryAnswer && error.question === 'filter') {
    return new AppError('sso_provider_wrong', because('directory_filter', { filter: settings.userFilter }), options)
  }
  if (error instanceof DirectoryAnswer && error.question === 'groups') {
    return new AppError('sso_provider_wrong', because('directory_filter', { filter: settings.groupFilter }), options)
  }
  return new AppError('sso_provider_unreachable', because('directory_broken'), options)
}
