import { AppError, because, type Grant, InjectedHeader } from '#manager/contract'

/** @throws AppError `app_failed` for a header that must not be added to requests: an agent chose it */
export function injectionOf({ inject, app }: Grant): Grant['inject'] {
  const checked = InjectedHeader.nullable().safeParse(inject)
  if (checked.success) return checked.data
  throw new AppError('app_failed', { app: app.name, ...because('header_not_added') })
}
