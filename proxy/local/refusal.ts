import { AppError, because, type TunnelCloseReason } from '#manager/contract/light'

/** Error for a tunnel that the agent did not connect to its app; undefined for the end of a tunnel that was connected. */
export function refusalOf(reason: TunnelCloseReason | undefined): AppError | undefined {
  if (reason === 'refused' || reason === 'app_not_ready')
    return new AppError('app_failed', { ...because('app_refuses'), reason })
  if (reason === 'dial_timeout') return new AppError('app_failed', { ...because('app_silent'), reason })
  if (reason === 'kernel_not_found') return new AppError('agent_unreachable', because('host_without_session'))
  return undefined
}
