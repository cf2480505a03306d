import type en from '../en/announcement.ts'
import { type Translation } from '../message-types.ts'

export default {
  info: '공지',
  warning: '공지',
  critical: '긴급 공지',
  until: '{time}까지',
  dismiss: '공지 닫기',
  read: '읽기',
} satisfies Translation<typeof en>
