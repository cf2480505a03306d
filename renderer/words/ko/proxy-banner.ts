import type en from '../en/proxy-banner.ts'
import { type Translation } from '../message-types.ts'

export default {
  proxyMisconfigured: 'Berth 앞의 리버스 프록시 설정이 잘못되었습니다.',
  lastSeen: '{time} 전에 마지막으로 확인됨.',
  proxyLines: '설정에 추가할 내용',
  proxyMore: '자세한 내용은 <code>{file}</code> 문서에 있습니다. 이 알림은 관리자에게만 표시됩니다.',
  dismissNotice: '이 알림 닫기',
} satisfies Translation<typeof en>
