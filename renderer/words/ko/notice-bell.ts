import type en from '../en/notice-bell.ts'
import { type Translation } from '../message-types.ts'

export default {
  unread: '{count, plural, =0 {읽지 않은 알림 없음} other {알림, 읽지 않음 #개}}',
} satisfies Translation<typeof en>
