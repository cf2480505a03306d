import type en from '../en/admin-scim.ts'
import { type Translation } from '../message-types.ts'

export default {
  title: 'SCIM 토큰',
  add: 'SCIM 토큰 만들기',
  none: 'SCIM 토큰 없음',
  noneText: 'Okta, Entra ID 같은 ID 제공자가 토큰으로 도메인의 계정을 만들고 비활성화합니다.',
  name: '이름',
  nameHint: '토큰을 사용하는 곳입니다. 예: 제공자 이름.',
  domain: '도메인',
  domainHint: '제공자가 이 도메인의 계정과 프로젝트를 관리합니다.',
  ownDomain: '제공자가 내 도메인 {domain}의 계정과 프로젝트를 관리합니다.',
  madeBy: '만든 사람',
  lastUsed: '마지막 사용',
  never: '없음',
  ownerHint: '내가 이 도메인을 관리하는 동안만 토큰이 작동합니다.',
  make: '토큰 만들기',
  baseUrl: '기본 URL(테넌트 URL)',
  baseUrlHint: 'ID 제공자에 도메인의 토큰과 함께 입력하세요.',
  madeTitle: '{name} 토큰',
  token: '토큰',
  shownOnce: '토큰은 다시 표시되지 않으므로 지금 둘 다 제공자에 입력하세요.',
  endOf: '{name} 종료',
  end: '토큰 종료',
  endTitle: '{name} 토큰을 종료할까요?',
  endText: '제공자가 더 이상 {domain} 도메인을 변경하지 않습니다. 계정과 프로젝트는 그대로 유지됩니다.',
  ended: '{name} 토큰을 종료했습니다.',
} satisfies Translation<typeof en>
